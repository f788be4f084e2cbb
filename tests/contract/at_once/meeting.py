"""Two changes of which the second one begins while the first is made and not yet committed."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.db import connection, connections, transaction


@dataclass
class Meeting:
    """What came of two changes: the error of each, or None."""

    first: Exception | None = None
    second: Exception | None = None


def meet(first: Callable[[], Any], second: Callable[[], Any]) -> Meeting:
    """Begin the second change while the first one is made and not committed."""
    result = Meeting()

    def later() -> None:
        try:
            second()
        except Exception as error:
            result.second = error
        finally:
            connections.close_all()

    thread = threading.Thread(target=later)
    try:
        with transaction.atomic():
            first()
            thread.start()
            wait_for_lock(thread)
    except Exception as error:
        result.first = error
    if thread.ident is not None:
        thread.join(30)
    return result


def wait_for_lock(thread: threading.Thread) -> None:
    """Return once the other change waits for the first one, or has ended."""
    until = time.monotonic() + 10
    while thread.is_alive() and time.monotonic() < until:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_stat_clear_snapshot()")  # else the first look is repeated
            cursor.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
                "AND wait_event_type = 'Lock'"
            )
            if cursor.fetchone()[0]:
                return
        time.sleep(0.02)
