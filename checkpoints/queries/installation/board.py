"""What stands above a workspace's board, in one statement."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from checkpoints.breakers.rule import OPEN_ONES, BreakerRow, open_breakers
from checkpoints.postgres.named_rows import fetch_named
from checkpoints.postgres.sql_files import sql_file
from checkpoints.state import deltas

from ..overview.budgets import REACHED, ReachedBudget, reached_budgets
from ..proof import DAMAGE_MARK
from ..search.filters import TOP
from ..search.stuck import STUCK_MARK, StuckCounts, stuck_counts_of
from ..threads import MOVING

# More threads than a board shows: of all the newest, of each status those that are longest in it.
SHOWN: Final = 50
SQL: Final = sql_file(
    __file__,
    stuck=STUCK_MARK,
    open_ones=OPEN_ONES,
    reached=REACHED,
    damage=DAMAGE_MARK,
    top=TOP,
    shown=str(SHOWN),
)


@dataclass(frozen=True, slots=True)
class BoardLook:
    """`clock` of the database in microseconds; `mark` differs when the board moved."""

    clock: int
    mark: tuple[Any, ...]
    stuck: StuckCounts
    breakers: list[BreakerRow]
    budgets: list[ReachedBudget]


def board_look(*, workspace: UUID) -> BoardLook:
    """Read the clock, whether the board moved, what is stuck, stopped or spent."""
    [row] = fetch_named(SQL.look, [*[workspace] * 7, [str(s) for s in MOVING], workspace])
    return BoardLook(
        row.clock,
        (row.stuck, row.open_ones, row.reached, row.damage, row.since, row.newest, row.first),
        stuck_counts_of(deltas.decode(row.stuck or "[]")),
        open_breakers(row.open_ones),
        reached_budgets(row.reached),
    )
