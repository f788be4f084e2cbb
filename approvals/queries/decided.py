"""Decisions of people in a range of time: verdicts, how long requests waited, who carried the load.

Days that the sweep has added up are read from there, the others are counted now; both by the same
statement.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from checkpoints.postgres.named_rows import fetch_named
from checkpoints.postgres.plans import planned_for_this
from checkpoints.postgres.sql_files import sql_file
from checkpoints.tables.readers import decoded

SQL: Final = sql_file(__file__)
DAY: Final = "day"


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
    """The decisions from `low` until before `high`, by hour or day: up to three statements."""
    rows = _rows({"workspace": workspace, "low": low, "high": high, "unit": unit, "agent": agent})
    verdicts: dict[tuple[datetime, str], int] = defaultdict(int)
    by_time: dict[datetime, list[float]] = defaultdict(list)
    by_person: dict[str, list[float]] = defaultdict(list)
    names: dict[str, str] = {}
    for row in rows:
        waits = list(map(float, decoded(row.waits)))
        verdicts[row.at, row.verdict] += row.n
        by_time[row.at] += waits
        by_person[row.person] += waits
        names[row.person] = max(row.name, names.get(row.person, ""))
    people = {person: waits_of(some) for person, some in by_person.items() if some}
    busiest = sorted(people, key=lambda person: (-people[person].n, person))
    return Decided(
        dict(verdicts),
        {at: waits_of(some) for at, some in by_time.items()},
        waits_of([took for some in by_time.values() for took in some]),
        tuple((person, names[person], people[person]) for person in busiest),
    )


def waits_of(seconds: Sequence[float]) -> Waits:
    """The number of these waits, their median and the 90th percentile, between two if need be."""
    ordered = sorted(seconds)

    def at(share: float) -> float:
        below, part = divmod(share * (len(ordered) - 1), 1)
        low, high = ordered[int(below)], ordered[min(int(below) + 1, len(ordered) - 1)]
        return low + part * (high - low)

    return Waits(len(ordered), at(0.5), at(0.9)) if ordered else Waits(0, None, None)


def _rows(params: dict[str, Any]) -> list[Any]:
    """The rows of days that are added up, and of the rest of the range."""
    folded, low = [], params["low"]
    if params["unit"] == DAY and (until := fetch_named(SQL.until, params)):
        low = min(max(low, until[0].at), params["high"])
        folded = fetch_named(SQL.folded, params | {"high": low})
    if low >= params["high"]:
        return folded
    with planned_for_this():
        return folded + fetch_named(SQL.counted, params | {"low": low})
