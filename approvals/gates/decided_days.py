"""Add up the decisions of days that are past: once, since decisions never change."""

from __future__ import annotations

from datetime import date
from typing import Any, Final
from uuid import UUID

from django.db import connection, transaction

from checkpoints.postgres.guarded_rows import bound_waits, handle_each, not_set_aside
from checkpoints.postgres.plans import planned_for_this
from checkpoints.postgres.sql_files import sql_file

from ..queries import decided

SQL: Final = sql_file(
    __file__, counted=decided.SQL.counted, not_set_aside=not_set_aside("decisions", "w.id")
)
# A day is added up so long after its end: what was committed late is in it.
SETTLED_SECONDS: Final = 600.0
DAYS_AT_ONCE: Final = 31
AT_ONCE: Final = 20


def fold_decisions() -> int:
    """Add up the days of workspaces that have such; how many workspaces."""
    with connection.cursor() as cursor:
        cursor.execute(SQL.due, {"settled": SETTLED_SECONDS, "limit": AT_ONCE})
        due: list[tuple[UUID, date]] = cursor.fetchall()

    def fold_days(row: tuple[UUID, UUID | None, date]) -> int:
        workspace, _, day = row
        return fold(workspace, day)

    return handle_each("decisions", [(workspace, None, day) for workspace, day in due], fold_days)


def fold(workspace: UUID, day: date) -> bool:
    """Add up some of the days before this one; False where another process is at it."""
    params: dict[str, Any] = {"workspace": workspace, "day": day, "most": DAYS_AT_ONCE}
    with transaction.atomic(), connection.cursor() as cursor:
        bound_waits()
        cursor.execute(SQL.begin, params)
        cursor.execute(SQL.hold, params)
        held = cursor.fetchone()
        if held is None:
            return False
        span: dict[str, Any] = {"low": held[0], "high": held[1], "unit": decided.DAY, "agent": ""}
        with planned_for_this():
            cursor.execute(SQL.fold, params | span)
        cursor.execute(SQL.note, params | span)
    return True
