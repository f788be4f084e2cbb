"""Retention rules of a workspace, and the threads that they say are to be erased by now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from checkpoints.postgres.sql_files import sql_file
from checkpoints.states import FINISHED

from ..rows import rows

SQL: Final = sql_file(__file__)
COUNTED_MAX: Final = 10_001
_ENDED: Final = sorted(map(str, FINISHED))


@dataclass(frozen=True, slots=True)
class RuleRow:
    """The number of days after its end a thread of an agent is erased; "" stands for all others."""

    id: UUID
    workspace: UUID
    agent: str
    days: int
    archive: bool
    active: bool
    set_by: str
    set_at: datetime

    @property
    def sentence(self) -> str:
        """The rule in words, as the reason of what it erases."""
        whose = f"of {self.agent}" if self.agent else "of all other agents"
        return _sentence(whose, self.days)


@dataclass(frozen=True, slots=True)
class DueRow:
    """A thread that a rule says is to be erased by now."""

    thread: UUID
    workspace: UUID
    rule: UUID
    agent: str
    days: int
    archive: bool

    @property
    def sentence(self) -> str:
        """The rule in words."""
        return _sentence(f"of {self.agent}" if self.agent else "of all other agents", self.days)


def _sentence(whose: str, days: int) -> str:
    return f"Retention rule: threads {whose}, {days} day{'' if days == 1 else 's'} after their end"


def rule_of(workspace: UUID, agent: str) -> RuleRow | None:
    """The rule of an agent, active or not."""
    result = rows(SQL.rule, (workspace, agent))
    return RuleRow(*result[0]) if result else None


def any_active() -> bool:
    """Return whether any workspace has an active rule; one look at a small table."""
    return bool(rows(SQL.any, ())[0][0])


def due(after: UUID, *, limit: int) -> list[DueRow]:
    """Threads behind an id that are to be erased by now, in the order of their ids."""
    return [DueRow(*row) for row in rows(SQL.due, (_ENDED, after, limit))]


def all_due(threads: Sequence[UUID], *, days: int) -> bool:
    """Return whether all these threads ended at least this many days ago."""
    return bool(rows(SQL.all_due, (days, list(threads)))[0][0])


def count_due(workspace: UUID, *, agent: str, days: int) -> int:
    """Count how many threads a rule would erase now; counted up to COUNTED_MAX."""
    params = (workspace, agent, agent, _ENDED, days, COUNTED_MAX)
    return int(rows(SQL.count, params)[0][0])
