"""Budgets above the board of which 80 or 100 per cent is spent."""

from __future__ import annotations

from typing import Any, Protocol

from checkpoints.queries import ReachedBudget


class HasBudgets(Protocol):
    """A page that has read which budgets are reached."""

    @property
    def reached_budgets(self) -> list[ReachedBudget]: ...


def board_budgets(page: HasBudgets, roles: frozenset[str]) -> dict[str, Any]:
    """Region board-budgets."""
    return {"budgets": page.reached_budgets}
