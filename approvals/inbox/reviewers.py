"""How reviewers do: what waits for whom, how long they take, and whether they look first."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from checkpoints.postgres.named_rows import fetch_named
from checkpoints.postgres.plans import planned_for_this
from checkpoints.postgres.sql_files import sql_file

DAYS: Final = 7
WAITING_CAP, DECIDED_CAP = 10_000, 20_000
QUICK_SECONDS: Final = 5.0  # less than it takes to read a proposal
STREAK: Final = 5  # approvals in a row without opening the request
QUICK_MANY: Final = 3

SQL = sql_file(
    __file__, days=str(DAYS), decided_cap=str(DECIDED_CAP), quick_seconds=str(QUICK_SECONDS)
)


@dataclass(frozen=True, slots=True)
class Habit:
    """A reviewer's last days; `counted` are approvals of requests that need opening.

    Of these `unopened` were never opened, `quick` were decided within QUICK_SECONDS of opening,
    `streak` is how many of the newest ones in a row were not opened. `median` in seconds.
    """

    person: str
    name: str
    decided: int
    median: float
    newest: datetime
    counted: int
    unopened: int
    quick: int
    streak: int

    @property
    def worth_a_word(self) -> bool:
        """Answer True if somebody should look at how this person approves."""
        return self.streak >= STREAK or self.quick >= max(QUICK_MANY, self.counted // 2)


@dataclass(frozen=True, slots=True)
class Waiting:
    """The requests that wait for one seat: `user:ada`, `team:finance`, or `*` for any reviewer."""

    seat: str
    waiting: int
    oldest: datetime
    due: int


def habits(workspace: UUID) -> list[Habit]:
    """All reviewers who decided in the last days, the busiest first."""
    return _habits(workspace, None)


def habit(workspace: UUID, person: str) -> Habit | None:
    """One reviewer's; None for a person who decided nothing in the last days."""
    habits = _habits(workspace, person)
    return habits[0] if habits else None


def _habits(workspace: UUID, person: str | None) -> list[Habit]:
    with planned_for_this():
        rows = fetch_named(SQL.habits, {"workspace": workspace, "person": person})
    return [Habit(**row._asdict()) for row in rows]


def load(workspace: UUID) -> list[Waiting]:
    """Among the oldest WAITING_CAP open requests: how many wait for each person and team."""
    rows = fetch_named(SQL.load, {"workspace": workspace, "limit": WAITING_CAP})
    return [Waiting(**row._asdict()) for row in rows]
