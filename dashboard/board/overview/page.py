"""Context of the overview: numbers above its figures, budgets, links to other periods."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from checkpoints.queries import BudgetStanding
from dashboard.wording.text import number

from .figure import money
from .figures import all_figures
from .period import LENGTHS, WORDS
from .reads import Overview
from .tiles import tiles


@dataclass(frozen=True, slots=True)
class BudgetLine:
    """A budget as pages show it: how full it is now, and at the end of the month."""

    usage: BudgetStanding
    percent: int
    bar: int
    tone: str
    spent: str
    limit: str
    forecast: str
    forecast_percent: int


def budget_line(usage: BudgetStanding) -> BudgetLine:
    """One budget in words."""
    row = usage.row
    percent = int(usage.percent)
    spent, limit, forecast = [], [], []
    if row.max_cost is not None:
        spent.append(money(usage.cost))
        limit.append(money(row.max_cost))
        forecast.append(money(usage.forecast_cost))
    if row.max_tokens is not None:
        spent.append(f"{number(usage.tokens)} tokens")
        limit.append(f"{number(row.max_tokens)} tokens")
        forecast.append(f"{number(usage.forecast_tokens)} tokens")
    tone = {100: "t-fail", 80: "t-wait"}.get(usage.band, "t-done")
    return BudgetLine(
        usage,
        percent,
        min(percent, 100),
        tone,
        ", ".join(spent),
        ", ".join(limit),
        ", ".join(forecast) if usage.has_forecast else "",
        round(usage.forecast_share * 100),
    )


def context(look: Overview, agents: list[str]) -> dict[str, Any]:
    """All that the page shows."""
    own = {"period": look.period.name, "agent": look.agent}
    if not look.period.name:
        own |= {"from": f"{look.period.first}", "to": f"{look.period.last}"}
    figures = all_figures(look)
    return {
        "tiles": tiles(look),
        "figures": [one for one in figures if one.is_drawn],
        "without_data": [one.title for one in figures if not one.is_drawn],
        "budgets": [budget_line(one) for one in look.budgets if one.row.active],
        "period": look.period,
        "agent": look.agent,
        "agents": agents,
        "lengths": [(name, WORDS[name], query(period=name, agent=look.agent)) for name in LENGTHS],
        "query": query(**own),
        "first": f"{look.period.first}",
        "last": f"{look.period.last}",
    }


def query(**values: str) -> str:
    """The query of an address; values that are empty are left out."""
    text = urlencode({name: value for name, value in values.items() if value})
    return f"?{text}" if text else ""
