"""Budgets by calendar month (UTC): what they allow, what is spent, and where the month will end.

The forecast is linear: as much in each of the month's remaining seconds as in those that passed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import ROUND_CEILING, Decimal
from typing import Any, Final
from uuid import UUID

from checkpoints.errors import NotFound
from checkpoints.postgres.sql_files import sql_file
from checkpoints.state import deltas

from ..rows import rows
from .figures import Spent, spent_between

SQL: Final = sql_file(__file__)
REACHED: Final = SQL.reached
BANDS: Final = (80, 100)


@dataclass(frozen=True, slots=True)
class BudgetRow:
    """The monthly limit of a workspace, an agent or a team; None where there is none.

    `number` counts its changes. `at_full`: "notify" people, or also "stop" the threads.
    """

    id: UUID
    workspace: UUID
    scope: str
    name: str
    max_tokens: int | None
    max_cost: Decimal | None
    at_full: str
    active: bool
    number: int

    @property
    def whose(self) -> str:
        """The owner of the spending that counts, in words."""
        return whose(self.scope, self.name)

    def covers(self, one: Spent) -> bool:
        """Answer True where this spending counts."""
        return self.scope == "workspace" or self.name == getattr(one, self.scope)

    def percent(self, tokens: int, cost: Decimal) -> Decimal:
        """The spent part of it in per cent, of whichever limit is nearer; exact, as bands are."""
        pairs = ((Decimal(tokens), self.max_tokens), (cost, self.max_cost))
        return max(
            (100 * spent / most if most else Decimal(100))
            for spent, most in pairs
            if most is not None
        )

    def share(self, tokens: int, cost: Decimal) -> float:
        """The same as a part of 1."""
        return float(self.percent(tokens, cost) / 100)


@dataclass(frozen=True, slots=True)
class BudgetStanding:
    """A budget in the present month; the forecast is of the whole month, None before an hour of it.

    `reached` are the bands that were announced, `elapsed` the part of the month that has passed.
    """

    row: BudgetRow
    month: datetime
    elapsed: float
    tokens: int
    cost: Decimal
    reached: tuple[int, ...]

    @property
    def share(self) -> float:
        """The spent part of the budget."""
        return self.row.share(self.tokens, self.cost)

    @property
    def percent(self) -> Decimal:
        """The same in per cent, exact: $0.24 of $0.30 are 80 %."""
        return self.row.percent(self.tokens, self.cost)

    @property
    def band(self) -> int:
        """The highest band that is reached, 0 below all."""
        return max((band for band in BANDS if self.percent >= band), default=0)

    @property
    def has_forecast(self) -> bool:
        """False in the first hours of a month, which say nothing of the rest."""
        return self.elapsed > 1 / 200

    @property
    def forecast_tokens(self) -> int:
        """Tokens by the end of the month."""
        return round(self.tokens / self.elapsed) if self.has_forecast else self.tokens

    @property
    def forecast_cost(self) -> Decimal:
        """Cost by the end of the month; never less than what is spent, however little that is."""
        if not self.has_forecast:
            return self.cost
        # As many digits as a cost has: to the cent, a fleet of small models would be free.
        return (self.cost / Decimal(self.elapsed)).quantize(Decimal("0.000001"), ROUND_CEILING)

    @property
    def forecast_share(self) -> float:
        """The part of the budget that will be spent by the end of the month."""
        return self.row.share(self.forecast_tokens, self.forecast_cost)


@dataclass(frozen=True, slots=True)
class ReachedBudget:
    """A budget of which a band is spent; `stopped`: a breaker was tripped for it."""

    scope: str
    name: str
    band: int
    stopped: bool


def whose(scope: str, name: str) -> str:
    """The owner of a budget in words."""
    return {"workspace": "the workspace", "agent": name, "team": f"team {name}"}[scope]


def budgets(workspace: UUID) -> list[BudgetRow]:
    """All budgets of a workspace, those that are off included."""
    return [BudgetRow(*row) for row in rows(SQL.budgets, {"workspace": workspace})]


def budget(budget_id: UUID, *, workspace: UUID) -> BudgetRow:
    """One budget; NotFound also for those of other workspaces."""
    for row in budgets(workspace):
        if row.id == budget_id:
            return row
    raise NotFound("There is no such budget in this workspace.")


def budgeted_workspaces() -> list[UUID]:
    """Workspaces that have a budget which is on."""
    return [ident for (ident,) in rows(SQL.budgeted)]


def has_stop_budget(workspace: UUID) -> bool:
    """Answer True if a budget of the workspace stops its threads."""
    return bool(rows(SQL.stops, {"workspace": workspace})[0][0])


def budget_standings(workspace: UUID) -> list[BudgetStanding]:
    """Each budget with what is spent of it this month; one statement where there is none."""
    there = budgets(workspace)
    if not there:
        return []
    [(now, text)] = rows(SQL.month, {"workspace": workspace})
    reached: dict[str, list[int]] = deltas.decode(text)
    month = month_of(now)
    spent = spent_between(workspace, month, now)
    elapsed = (now - month) / (next_month(month) - month)
    return [
        BudgetStanding(
            row,
            month,
            elapsed,
            *_sums(one for one in spent if row.covers(one)),
            tuple(sorted(reached.get(str(row.id), ()))),
        )
        for row in there
    ]


def reached_budgets(text: str | None) -> list[ReachedBudget]:
    """The answer of REACHED."""
    result: Sequence[Any] = deltas.decode(text) if text else ()
    return [ReachedBudget(r["scope"], r["name"], r["band"], r["stopped"]) for r in result]


def month_of(now: datetime) -> datetime:
    """The beginning of the month, UTC."""
    return now.astimezone(UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)


def next_month(month: datetime) -> datetime:
    """The beginning of the month after one."""
    years, number = divmod(month.month, 12)
    return month.replace(year=month.year + years, month=number + 1)


def _sums(some: Iterable[Spent]) -> tuple[int, Decimal]:
    listed = list(some)
    return sum(one.tokens for one in listed), sum((one.cost for one in listed), Decimal(0))
