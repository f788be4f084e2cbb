"""Figures of money: what calls cost, by whom and for what, and the price of an outcome."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from checkpoints.queries import FigureRow
from dashboard.html.charts.over_time import Series, over_time
from dashboard.html.charts.ranks import ranks

from .figure import Column, Figure, money
from .reads import NOTHING, Overview, Sum
from .work import AGENT, CHILDREN, TIME

MUCH: Final = (
    Column("calls", "Calls"),
    Column("tokens", "Tokens"),
    Column("cost", "Cost", "money"),
)
NO_TEAM: Final = "no team"
ALL: Final = "all"  # agents together
RULE: Final = "A cost counts at the end of its call. Models without a known price show tokens only."
# What the page says beside the figure.
OUTCOME_RULE: Final = (
    "Threads that ended in this period, by their current status, with everything they and their "
    "children ever spent. A child, which another thread started, doesn't count as a success. "
    "Cost of success: what succeeded threads cost, without work that was rolled back. "
    "Cost of mistakes: what failed and cancelled threads cost, and rolled-back work of succeeded "
    "ones. Per success: the cost of success divided by the succeeded threads; "
    "with mistakes, both together."
)


def spending(look: Overview) -> Figure:
    """Tokens and cost over time."""
    rows = [(at, sums["spent"]) for at, sums in look.by_time("spent")]
    return Figure(
        "spending",
        "Spending",
        RULE,
        (TIME, *MUCH),
        tuple((at, one.n, one.tokens, one.cost) for at, one in rows),
        plot=over_time(
            look.period.labels,
            bars=[Series("cost", "run", [float(one.cost) for _, one in rows])],
            words=money,
        ),
        hours=look.period.unit == "hour",
    )


def agents(look: Overview) -> Figure:
    """Tokens and cost by agent."""
    return _by(look, "agents", "Spending by agent", AGENT, lambda row: row.agent)


def models(look: Overview) -> Figure:
    """Tokens and cost by model."""
    column = Column("model", "Model", "text")
    return _by(look, "models", "Spending by model", column, lambda row: row.name)


def teams(look: Overview) -> Figure:
    """Tokens and cost by the label `team`."""
    column = Column("team", "Team", "text")
    return _by(look, "teams", "Spending by team", column, lambda row: row.team or NO_TEAM)


@dataclass(frozen=True, slots=True)
class Outcome:
    """Cost of threads that ended, by their outcome; see OUTCOME_RULE."""

    succeeded: int
    children: int
    success: Decimal
    failed: Decimal
    cancelled: Decimal
    rolled_back: Decimal

    @property
    def mistakes(self) -> Decimal:
        """Cost of all that came to nothing."""
        return self.failed + self.cancelled + self.rolled_back

    @property
    def per_success(self) -> Decimal | None:
        """Cost of a success by itself."""
        return self.success / self.succeeded if self.succeeded else None

    @property
    def per_success_with_mistakes(self) -> Decimal | None:
        """Cost of a success with its share of all mistakes."""
        return (self.success + self.mistakes) / self.succeeded if self.succeeded else None


def outcome_of(sums: dict[str, Sum]) -> Outcome:
    """The price of outcomes from the sums of a period."""
    rolled_back = sums["rolled_back"].cost
    return Outcome(
        sums["succeeded"].n,
        sums["child_succeeded"].n,
        _cost_of(sums, "succeeded") - rolled_back,
        _cost_of(sums, "failed"),
        _cost_of(sums, "cancelled"),
        rolled_back,
    )


def _cost_of(sums: dict[str, Sum], name: str) -> Decimal:
    return sums[name].cost + sums[f"child_{name}"].cost


def total_outcome(look: Overview) -> Outcome:
    """The price of outcomes of all agents together."""
    return outcome_of(look.total(*ENDED))


_ENDS: Final = ("succeeded", "failed", "cancelled")
ENDED: Final = (*_ENDS, *(f"child_{name}" for name in _ENDS), "rolled_back")


def outcomes(look: Overview) -> Figure:
    """Cost per successful outcome beside the cost of mistakes, by agent and in all."""
    sums = look.sums(lambda row: row.agent, ENDED)
    by_agent = {agent: outcome_of(sums[agent]) for agent in sorted(sums)}
    listed = [*by_agent.items(), *([(ALL, total_outcome(look))] if len(by_agent) > 1 else [])]
    return Figure(
        "outcomes",
        "Cost per success, and cost of mistakes",
        OUTCOME_RULE,
        (
            AGENT,
            Column("succeeded", "Succeeded"),
            CHILDREN,
            Column("cost_per_success", "Per success", "money"),
            Column("cost_per_success_with_mistakes", "With mistakes", "money"),
            Column("cost_of_success", "Cost of success", "money"),
            Column("cost_of_mistakes", "Cost of mistakes", "money"),
            Column("cost_failed", "Failed", "money"),
            Column("cost_cancelled", "Cancelled", "money"),
            Column("cost_rolled_back", "Rolled back", "money"),
        ),
        tuple(
            (
                agent,
                one.succeeded,
                one.children,
                _cents(one.per_success),
                _cents(one.per_success_with_mistakes),
                one.success,
                one.mistakes,
                one.failed,
                one.cancelled,
                one.rolled_back,
            )
            for agent, one in listed
        ),
        ranks=ranks(
            [
                (
                    agent,
                    tuple(map(float, (one.success, one.failed, one.cancelled, one.rolled_back))),
                )
                for agent, one in by_agent.items()
            ],
            kinds=[
                ("success", "done"),
                ("failed", "fail"),
                ("cancelled", "idle"),
                ("rolled back", "stuck"),
            ],
            words=money,
        ),
    )


def _by(
    look: Overview, name: str, title: str, column: Column, key: Callable[[FigureRow], str]
) -> Figure:
    sums = look.sums(key, ["spent"])
    rows = sorted(
        ((who, one["spent"]) for who, one in sums.items()),
        key=lambda row: (-row[1].cost, -row[1].tokens, row[0]),
    )
    priced = any(one.cost for _, one in rows)
    return Figure(
        name,
        title,
        RULE,
        (column, *MUCH),
        tuple((who, one.n, one.tokens, one.cost) for who, one in rows),
        ranks=ranks(
            [(who, (float(one.cost) if priced else float(one.tokens),)) for who, one in rows],
            kinds=[("cost", "run") if priced else ("tokens", "run")],
            words=money if priced else (lambda value: f"{value:,.0f} tokens"),
        ),
    )


def _cents(value: Decimal | None) -> Decimal | None:
    return None if value is None else value.quantize(Decimal("0.000001")) + NOTHING
