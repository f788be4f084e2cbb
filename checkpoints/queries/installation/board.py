"""What stands above a workspace's board, in one statement."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from checkpoints.breakers.rule import OPEN_ONES, BreakerRow, open_breakers
from checkpoints.state import deltas

from ..overview.budgets import REACHED, ReachedBudget, reached_budgets
from ..proof import DAMAGE_MARK
from ..rows import rows
from ..search.stuck import STUCK_MARK, StuckCounts, stuck_counts_of
from ..threads import MOVING


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
    [(clock, stuck, open_ones, reached, *moved)] = rows(
        "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, "
        f"({STUCK_MARK}), ({OPEN_ONES}), ({REACHED}), "
        "(SELECT max(status_since) FROM gp_thread WHERE workspace_id = %s::uuid), "
        f"({DAMAGE_MARK}), n, total "
        "FROM (SELECT count(*) AS n, sum(last_seq) AS total FROM gp_thread WHERE "
        "workspace_id = %s::uuid AND status = ANY(%s::text[])) moving",
        (*[workspace] * 8, [str(s) for s in MOVING]),
    )
    return BoardLook(
        clock,
        (stuck, open_ones, reached, *moved),
        stuck_counts_of(deltas.decode(stuck or "[]")),
        open_breakers(open_ones),
        reached_budgets(reached),
    )
