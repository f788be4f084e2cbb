"""The budget of a fork: its limits now, and what is spent of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from checkpoints.log.fork_budgets import ForkBudget, Spent, granted_again, why_over
from checkpoints.postgres.named_rows import fetch_named
from checkpoints.postgres.sql_files import sql_file
from checkpoints.state import deltas

SQL = sql_file(__file__)


@dataclass(frozen=True, slots=True)
class ForkBudgetStanding:
    """The budget that a fork began with, the one that holds now, and what is spent."""

    first: ForkBudget
    now: ForkBudget
    spent: Spent

    @property
    def why_over(self) -> str:
        """The sentence by which the fork pauses; empty while there is room."""
        return why_over(self.now, self.spent)

    def granted_again(self) -> dict[str, Any]:
        """The budget to resume with."""
        return granted_again(self.first, self.spent)


def fork_budget(thread: UUID) -> ForkBudgetStanding | None:
    """The budget of a fork; None where it was given none, and for other threads."""
    result = fetch_named(SQL.standing, (thread,))
    if not result:
        return None
    (row,) = result
    first, now = (ForkBudget.read(deltas.decode(text)) for text in (row.first, row.now))
    return ForkBudgetStanding(first, now, Spent(row.cost, row.tokens, row.steps))
