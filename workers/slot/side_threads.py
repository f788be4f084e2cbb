"""Threads beside the sweep of a worker: what happens when their work fails, and at their end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import DatabaseError, InterfaceError, connection


@contextmanager
def side_thread(log: Any, event: str) -> Iterator[None]:
    """Log a failure as `event` instead of raising it, and close the thread's connection.

    A database that is away for a moment is a warning: the next turn tries again.
    """
    try:
        yield
    except (DatabaseError, InterfaceError) as error:
        log.warning(event, error=str(error).strip())
    except Exception:
        log.exception(event)
    finally:
        connection.close()
