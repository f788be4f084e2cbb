"""Add up the figures of days that are past, and again while their threads can still change.

A thread that failed last week may be retried today, so a day's figures are replaced as a whole,
by the very statement that counts a day that is not added up. Lost rows are made anew.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, Final
from uuid import UUID

from django.db import connection, transaction

from checkpoints.postgres.guarded_rows import bound_waits, handle_each, not_set_aside
from checkpoints.postgres.plans import planned_for_this
from checkpoints.postgres.sql_files import sql_file
from checkpoints.queries.overview import figures

SQL: Final = sql_file(
    __file__, counted=figures.SQL.counted, not_set_aside=not_set_aside("figures", "w.id")
)
# A day is added up so long after its end: what was committed late is in it.
SETTLED_SECONDS: Final = 600.0
DAYS_STORED: Final = 92
DAYS_RENEWED: Final = 35
RENEWED_SECONDS: Final = 1_800.0
AT_ONCE: Final = 20
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
    """Add up days that are past and not added up, then those that were longest ago; how many."""
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
        due: list[tuple[UUID, date]] = cursor.fetchall()
    end = time.monotonic() + MOST_SECONDS

    def fold_in_time(row: tuple[UUID, UUID | None, date]) -> int:
        workspace, _, day = row
        return time.monotonic() < end and fold(workspace, day)

    # Where a day cannot be added up, all days of its workspace are set aside.
    return handle_each("figures", [(workspace, None, day) for workspace, day in due], fold_in_time)


def fold(workspace: UUID, day: date) -> bool:
    """Replace the figures of one day; False where another process is at it."""
    low = figures.midnight(day)
    params: dict[str, Any] = {"workspace": workspace, "day": day}
    span: dict[str, Any] = {
        "low": low,
        "high": low + timedelta(days=1),
        "unit": figures.DAY,
        "agent": "",
    }
    with transaction.atomic(), connection.cursor() as cursor:
        bound_waits()
        cursor.execute(
            "SELECT pg_try_advisory_xact_lock(hashtextextended(%(key)s, 60))",
            {"key": f"{workspace} {day}"},
        )
        if not cursor.fetchone()[0]:
            return False
        cursor.execute(SQL.forget, params)
        with planned_for_this():
            cursor.execute(SQL.fold, params | span)
        cursor.execute(SQL.note, params)
    return True
