"""A deliberate delay inside the write path, to prove that a slow one is noticed.

It waits before each statement that moves a thread, in every process that calls `install`; nothing
in the product knows of it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

from django.db import connection
from django.db.backends.signals import connection_created

VARIABLE = "GATEPOST_BENCH_HANDICAP_MS"
_WRITE = "UPDATE gp_thread"


def wanted() -> float:
    """Milliseconds asked for."""
    return float(os.environ.get(VARIABLE, "0") or 0)


def install() -> None:
    """Delay the writes of this process by what the environment says."""
    if wanted():
        connection_created.connect(_delay, dispatch_uid="benchmarks.handicap")
        _delay(connection=connection)


def _delay(*, connection: Any, **_kwargs: Any) -> None:
    if _wait not in connection.execute_wrappers:
        connection.execute_wrappers.append(_wait)


def _wait(
    execute: Callable[..., Any], sql: Any, params: Any, many: bool, context: dict[str, Any]
) -> Any:
    if _WRITE in str(sql):
        time.sleep(wanted() / 1000)
    return execute(sql, params, many, context)
