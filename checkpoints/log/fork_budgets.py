"""Budgets of forks, at which they pause, as the log states them; pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from ..errors import InvalidValue
from ..state import deltas

LIMITS: Final = ("cost", "tokens", "steps")
# Dollars above 0 as text: floats would round what is compared.
COST: Final = re.compile(r"[1-9][0-9]{0,8}(?:\.[0-9]{1,6})?|0\.[0-9]{0,5}[1-9][0-9]{0,5}")
NUMBER_MAX: Final = 10**12


@dataclass(frozen=True, slots=True)
class ForkBudget:
    """Dollars, tokens and finished steps; None where there is no limit."""

    cost: Decimal | None = None
    tokens: int | None = None
    steps: int | None = None

    @classmethod
    def read(cls, value: Mapping[str, Any]) -> ForkBudget:
        """The budget of its JSON form, which was checked before."""
        cost = value.get("cost")
        return cls(None if cost is None else Decimal(cost), value.get("tokens"), value.get("steps"))

    def as_json(self) -> dict[str, Any]:
        """The limits that there are, as events have them."""
        limits = {"cost": _text(self.cost), "tokens": self.tokens, "steps": self.steps}
        return {name: limit for name, limit in limits.items() if limit is not None}

    def __str__(self) -> str:
        parts = [f"${_text(self.cost)}"] if self.cost is not None else []
        parts += [f"{self.tokens:,} tokens"] if self.tokens is not None else []
        parts += [_steps(self.steps)] if self.steps is not None else []
        return " and ".join(parts)


@dataclass(frozen=True, slots=True)
class Spent:
    """Dollars and tokens of a fork and of what it started, and its own finished steps."""

    cost: Decimal = Decimal(0)
    tokens: int = 0
    steps: int = 0


def checked(value: Any, path: str = "$.budget") -> dict[str, Any]:
    """The JSON form of a budget without limits that are null; raises InvalidValue with its path."""
    if not isinstance(value, Mapping):
        raise InvalidValue(path, "must be an object of cost, tokens and steps")
    for name in value.keys() - set(LIMITS):
        raise InvalidValue(deltas.at(path, str(name)), "is not a limit: cost, tokens and steps are")
    cost = value.get("cost")
    if cost is not None and not (isinstance(cost, str) and COST.fullmatch(cost)):
        raise InvalidValue(f"{path}.cost", "must be dollars above 0 as text, such as 0.50")
    for name in ("tokens", "steps"):
        limit = value.get(name)
        if limit is not None and not (type(limit) is int and 0 < limit <= NUMBER_MAX):
            raise InvalidValue(f"{path}.{name}", f"must be a whole number, 1 to {NUMBER_MAX:,}")
    return ForkBudget.read(value).as_json()


def why_over(budget: ForkBudget, spent: Spent) -> str:
    """The sentence by which a fork pauses; empty while its budget leaves room."""
    if budget.cost is not None and spent.cost >= budget.cost:
        used, limit = f"spent ${_text(spent.cost)}", f"${_text(budget.cost)}"
    elif budget.tokens is not None and spent.tokens >= budget.tokens:
        used, limit = f"used {spent.tokens:,} tokens", f"{budget.tokens:,}"
    elif budget.steps is not None and spent.steps >= budget.steps:
        used, limit = f"taken {_steps(spent.steps)}", str(budget.steps)
    else:
        return ""
    # "the spend cap is": by these words incidents know a thread that stopped over money.
    return (
        f"Over its budget: this fork has {used}; the spend cap is {limit}. "
        "Resume grants the same budget once more."
    )


def granted_again(first: ForkBudget, spent: Spent) -> dict[str, Any]:
    """The budget of a fork that continues after it was over: its first one on top of the spent."""
    return ForkBudget(
        None if first.cost is None else spent.cost + first.cost,
        None if first.tokens is None else spent.tokens + first.tokens,
        None if first.steps is None else spent.steps + first.steps,
    ).as_json()


def _text(cost: Decimal | None) -> str | None:
    return None if cost is None else f"{cost.normalize():f}"


def _steps(steps: int) -> str:
    return f"{steps:,} step{'' if steps == 1 else 's'}"
