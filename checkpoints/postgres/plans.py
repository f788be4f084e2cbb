"""Statements whose best plan depends on their parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connection


@contextmanager
def planned_for_this() -> Iterator[None]:
    """Statements meanwhile are planned for their own parameters, each time.

    After some executions of a prepared statement PostgreSQL may keep one plan for all parameters,
    which costs it no planning, and costs us ten times the time where the usual ones are rare.
    """
    with connection.execute_wrapper(_unprepared):
        yield


def _unprepared(
    execute: Callable[..., Any], sql: str, params: Any, many: bool, context: dict[str, Any]
) -> Any:
    if many:
        return execute(sql, params, many, context)
    # What Django's own does, which has no way to say it.
    connection.validate_no_broken_transaction()
    with connection.wrap_database_errors:
        return context["cursor"].cursor.execute(sql, params, prepare=False)
