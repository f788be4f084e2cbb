"""Add up the figures of hours and days that are past, and again when they can have changed.

A thread that failed last week may be retried today, so the figures of an hour or a day are replaced
as a whole, by the very statement that counts one that is not added up. A trigger notes which hour
and day such a thread ended in, an import those of the threads that it brings; what is not noted,
such as another team, is found within half an hour. Lost rows are made anew.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.db import connection, transaction

from checkpoints.postgres.guarded_rows import bound_waits, handle_each, not_set_aside
from checkpoints.postgres.plans import planned_for_this
from checkpoints.postgres.sql_files import sql_file
from checkpoints.queries.overview import figures

SQL: Final = sql_file(
    __file__,
    counted=figures.SQL.counted,
    first=figures.SQL.first,
    not_set_aside=not_set_aside("figures", "u.id"),
)
# An hour or a day is added up so long after its end: what was committed late is in it.
SETTLED_SECONDS: Final = 600.0
DAYS_STORED: Final = 92
DAYS_RENEWED: Final = 35
RENEWED_SECONDS: Final = 1_800.0
AT_ONCE: Final = 100
MOST_SECONDS: Final = 0.5  # of one turn, so that the sweep's other parts wait no longer


@dataclass(slots=True)
class Turn:
    """Work that this process does once per `seconds`, by its own clock."""

    seconds: float
    at: float = 0.0

    def is_due(self) -> bool:
        """Answer True once per turn."""
        now = time.monotonic()
        if now < self.at:
            return False
        self.at = now + self.seconds
        return True


def fold_due() -> int:
    """Add up hours and days that are past: new ones, changed ones, then the oldest; how many."""
    with connection.cursor() as cursor:
        cursor.execute(
            SQL.due,
            {
                "settled": SETTLED_SECONDS,
                "stored": DAYS_STORED,
                "renewed_days": DAYS_RENEWED,
                "renewed": RENEWED_SECONDS,
                "limit": AT_ONCE,
            },
        )
        due: list[tuple[UUID, str, datetime]] = cursor.fetchall()
    end = time.monotonic() + MOST_SECONDS

    def fold_in_time(row: tuple[UUID, UUID | None, str, datetime]) -> int:
        workspace, _, unit, low = row
        return time.monotonic() < end and fold(workspace, unit, low)

    # Where one cannot be added up, all of its workspace are set aside.
    return handle_each(
        "figures", [(workspace, None, unit, low) for workspace, unit, low in due], fold_in_time
    )


def fold(workspace: UUID, unit: str, low: datetime) -> bool:
    """Replace the figures of one hour or day; False where another process is at it."""
    length = timedelta(hours=1) if unit == figures.HOUR else timedelta(days=1)
    params: dict[str, Any] = {"workspace": workspace, "unit": unit, "low": low}
    with transaction.atomic(), connection.cursor() as cursor:
        bound_waits()
        cursor.execute(
            "SELECT pg_try_advisory_xact_lock(hashtextextended(%(key)s, 60))",
            {"key": f"{workspace} {unit} {low}"},
        )
        if not cursor.fetchone()[0]:
            return False
        # First: a change that is committed while the figures are counted keeps its note.
        for statement in (SQL.forget_changes, SQL.forget, SQL.forget_hours):
            cursor.execute(statement, params)
        with planned_for_this():
            cursor.execute(SQL.fold, params | {"high": low + length, "agent": ""})
        cursor.execute(SQL.note, params)
    return True
