"""What was recorded at a step before: in the base of a fork, or before a rollback."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from ..postgres.named_rows import fetch_named
from ..postgres.sql_files import sql_file
from ..views import ActivityRow
from .activities import COLUMNS, activity_of
from .rows import rows

# Records of one step that are searched at most.
RECORDS_OF_A_STEP = 500
PURE = ("activity", "model")
SQL = sql_file(__file__, columns=COLUMNS)


def reusable(thread_id: UUID, *, step: int, agent_version: UUID) -> list[ActivityRow]:
    """Pure results recorded at this step by the same code, the nearest former course first."""
    result = rows(SQL.reusable, (thread_id, step, agent_version, list(PURE), RECORDS_OF_A_STEP))
    return [activity_of(r) for r in result]


def touched_after(thread_id: UUID, *, branches: Sequence[int], number: int) -> int | None:
    """The first step on these branches after a checkpoint at which a person's values joined."""
    (row,) = fetch_named(SQL.touched, (thread_id, list(branches), number))
    step: int | None = row.step
    return step
