"""Decisions of people in a range of time: verdicts, how long requests waited, who carried the load.

Counted are decisions of requests that were made at most BEFORE_DAYS earlier.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from checkpoints.postgres.named_rows import fetch_named
from checkpoints.postgres.plans import planned_for_this
from checkpoints.postgres.sql_files import sql_file

BEFORE_DAYS: Final = 90
SQL: Final = sql_file(__file__, before=str(BEFORE_DAYS))


@dataclass(frozen=True, slots=True)
class Waits:
    """Number of requests with a verdict, and the seconds that they had waited; None without any."""

    n: int
    median: float | None
    p90: float | None


@dataclass(frozen=True, slots=True)
class Decided:
    """Decisions of a range of time, `times` being the beginnings of hours or days.

    `verdicts` counts all by time and verdict; waits leave out answers, what was taken back,
    and verdicts of scripts and tokens.
    `reviewers` are (person, name, their waits), the busiest first.
    """

    verdicts: dict[tuple[datetime, str], int]
    waits: dict[datetime, Waits]
    total: Waits
    reviewers: tuple[tuple[str, str, Waits], ...]


def decided(
    *, workspace: UUID, low: datetime, high: datetime, unit: str, agent: str = ""
) -> Decided:
    """The decisions from `low` until before `high`, by hour or day: one statement."""
    params = {"workspace": workspace, "low": low, "high": high, "unit": unit, "agent": agent}
    with planned_for_this():
        rows = fetch_named(SQL.summed, params)
    verdicts, waits, total = {}, {}, Waits(0, None, None)
    people: dict[tuple[int, str], tuple[str, str, Waits]] = {}
    for row in rows:
        some = Waits(row.counted, row.median, row.p90)
        if row.verdict is not None:
            verdicts[row.at, row.verdict] = row.n
        elif row.at is not None:
            waits[row.at] = some
        elif row.person is None:
            total = some
        elif some.n:
            people[-some.n, row.person] = (row.person, row.name, some)
    return Decided(verdicts, waits, total, tuple(people[key] for key in sorted(people)))
