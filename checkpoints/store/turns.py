"""Turns of ephemeral threads: what is written of one once it is left, beside its status."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import Any

from ..records import Work
from ..states import EventKind
from .statement.moves import Move
from .steps import leave


@dataclass(slots=True)
class Totals:
    """The sums of a turn: steps, and what its calls took; `model` is the last one asked."""

    steps: int = 0
    tokens: int = 0
    cost: Decimal = Decimal(0)
    model: str = ""

    def add(self, usage: Any) -> None:
        """Add what a call took."""
        if isinstance(usage, dict):
            self.tokens += int(usage.get("tokens") or 0)
            self.cost += Decimal(str(usage.get("cost") or 0))
            self.model = str(usage.get("model") or self.model)

    def to_json(self) -> dict[str, Any]:
        """The part of an event that tells them; nothing of what is 0."""
        usage: dict[str, Any] = {"model": self.model} if self.model else {}
        usage |= {"tokens": self.tokens} if self.tokens else {}
        usage |= {"cost": str(self.cost)} if self.cost else {}
        steps = {"steps": self.steps} if self.steps else {}
        return steps | ({"usage": usage} if self.tokens or self.cost else {})


def leave_turn(
    work: Work,
    by: EventKind,
    totals: Totals,
    *,
    reason: str = "",
    data: dict[str, Any],
    wake_at_seconds: float | None = None,
) -> None:
    """Leave an ephemeral thread with its totals, in one statement; raises LeaseLost."""
    more = data | totals.to_json()
    leave(
        work,
        by,
        reason=reason,
        data=more,
        wake_at_seconds=wake_at_seconds,
        also=partial(_add, totals),
    )


def _add(totals: Totals, move: Move) -> None:
    move.express("n_steps", "th.n_steps + %s::bigint", totals.steps)
    move.express("tokens", "th.tokens + %s::bigint", totals.tokens)
    move.express("cost", "th.cost + %s::numeric", str(totals.cost))
    # The turn has ended: nothing of it is tried again.
    move.express("crash_count", "0")
