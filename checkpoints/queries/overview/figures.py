"""Work and spending of a workspace's threads over time, by hour or day (UTC).

Days and then hours that the sweep has added up are read from there, the others are counted now; all
by the same statement. Threads count on the day they ended, by how they stand now; spending on the
day a call ended.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Final, NamedTuple
from uuid import UUID

from checkpoints.postgres.named_rows import fetch_named
from checkpoints.postgres.plans import planned_for_this
from checkpoints.postgres.sql_files import sql_file

from ...states import Status
from ...views import AtLeast
from ..rows import rows
from ..search.counts import COUNT_CAP
from ..search.filters import TOP

# Ends of turns of ephemeral threads that took something; no call of them is kept. The index
# gp_event_turns.
TURNS: Final = (
    "x.kind IN ('thread.succeeded', 'thread.failed', 'thread.paused', 'thread.handed_back') "
    "AND x.data ? 'usage'"
)
COST_OF_TURNS: Final = (
    "SELECT x.thread_id, (x.data -> 'usage' ->> 'cost')::numeric AS cost FROM gp_event x "
    f"WHERE {TURNS}"
)
SQL: Final = sql_file(__file__, top=TOP, turns=TURNS)
HOUR, DAY = "hour", "day"


class FigureRow(NamedTuple):
    """Counts of something that happened in an hour or a day that begins at `at`, and what it cost.

    `figure` is started, succeeded, failed, cancelled, rolled_back (calls whose work a rollback
    dropped, of threads that succeeded), spent (calls) or saved (resumes). Children are apart:
    child_started, child_succeeded and so on. `name` is the model of what was spent and the node of
    what failed.
    """

    at: datetime
    figure: str
    agent: str
    name: str
    team: str
    n: int
    tokens: int
    cost: Decimal


@dataclass(frozen=True, slots=True)
class LoadRow:
    """Threads at work and queued, children of both apart, and since when the first is queued.

    `children` is AtLeast where threads were counted up to the cap.
    """

    running: int
    queued: int
    children: int
    oldest: datetime | None


@dataclass(frozen=True, slots=True)
class Spent:
    """Tokens and cost of an agent's threads of a team."""

    agent: str
    team: str
    tokens: int
    cost: Decimal


def figures(
    *, workspace: UUID, low: datetime, high: datetime, unit: str, agent: str = ""
) -> list[FigureRow]:
    """The figures from `low` until before `high`, both on a whole `unit`.

    Two statements: what is added up, and the rest, which is counted now.
    """
    low, added_up = _folded(workspace, low, high, unit=unit, agent=agent)
    if low >= high:
        return added_up
    params = {"workspace": workspace, "agent": agent, "low": low, "high": high, "unit": unit}
    with planned_for_this():
        return added_up + [FigureRow(*row) for row in fetch_named(SQL.counted, params)]


def load(*, workspace: UUID, agent: str = "") -> LoadRow:
    """The work of this moment, of all agents or one; threads up to COUNT_CAP + 1 of a status."""
    params = {"workspace": workspace, "agent": agent, "most": COUNT_CAP + 1}
    with planned_for_this():
        result = {row.status: row for row in fetch_named(SQL.load, params)}
    running, queued = result[Status.RUNNING], result[Status.QUEUED]
    children = sum(row.whole - row.own for row in result.values())
    if any(max(row.own, row.whole - row.own) > COUNT_CAP for row in result.values()):
        children = AtLeast(children)
    return LoadRow(running.own, queued.own, children, queued.oldest)


def spent_between(workspace: UUID, low: datetime, high: datetime) -> list[Spent]:
    """Add up what was spent from `low`, a midnight, until before `high`, by agent and team."""
    until, folded = _folded(workspace, low, high, figure="spent")
    results = [Spent(row.agent, row.team, row.tokens, row.cost) for row in folded]
    if until < high:
        params = {"workspace": workspace, "agent": "", "low": until, "high": high}
        with planned_for_this():
            results += [Spent(*row) for row in fetch_named(SQL.spent_between, params)]
    totals: dict[tuple[str, str], tuple[int, Decimal]] = {}
    for one in results:
        tokens, cost = totals.get((one.agent, one.team), (0, Decimal(0)))
        totals[one.agent, one.team] = (tokens + one.tokens, cost + one.cost)
    return [Spent(*who, *much) for who, much in totals.items()]


def _folded(
    workspace: UUID,
    low: datetime,
    high: datetime,
    *,
    unit: str = DAY,
    agent: str = "",
    figure: str = "",
) -> tuple[datetime, list[FigureRow]]:
    """The beginning of what is not added up, and the rows of what is before it."""
    params = {"workspace": workspace, "low": low, "high": high, "unit": unit}
    result = rows(SQL.folded, params | {"agent": agent, "figure": figure})
    return result[0][0], [FigureRow(*row) for _, *row in result if row[0] is not None]


def midnight(day: date) -> datetime:
    """The beginning of a day, UTC."""
    return datetime(day.year, day.month, day.day, tzinfo=UTC)
