"""Budgets by month."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Literal, Self
from uuid import UUID

from drf_spectacular.utils import extend_schema
from pydantic import Field
from rest_framework.request import Request
from rest_framework.response import Response

from checkpoints.queries import BudgetStanding
from dashboard import actions
from dashboard.actions.fleet import budgets
from dashboard.board.overview.figure import decimal_text
from dashboard.documents.state_shape import Shape

from ..protocol.base import MemberView, answer, refusals
from ..shapes.requests import RequestShape

MAX_COST = r"^[0-9]{1,12}(\.[0-9]{1,6})?$"


class Budget(Shape):
    """A monthly limit, and how it stands; shares are of whichever limit is nearer.

    The forecast is linear: as much in the rest of the month as in the part that has passed.
    """

    id: UUID
    scope: str
    name: str
    max_tokens: int | None
    max_cost: str | None
    at_full: str
    active: bool
    month: date
    tokens: int
    cost: str
    percent: float
    band: int = Field(description="100, 80, or 0 below both")
    forecast_tokens: int
    forecast_cost: str
    forecast_percent: float

    @classmethod
    def of(cls, one: BudgetStanding) -> Self:
        """The budget for the wire."""
        row = one.row
        return cls(
            id=row.id,
            scope=row.scope,
            name=row.name,
            max_tokens=row.max_tokens,
            max_cost=None if row.max_cost is None else decimal_text(row.max_cost),
            at_full=row.at_full,
            active=row.active,
            month=one.month.date(),
            tokens=one.tokens,
            cost=decimal_text(one.cost),
            percent=round(float(one.percent), 1),
            band=one.band,
            forecast_tokens=one.forecast_tokens,
            forecast_cost=decimal_text(one.forecast_cost),
            forecast_percent=round(one.forecast_share * 100, 1),
        )


class BudgetList(Shape):
    """All budgets: the workspace's, by agent, by team."""

    results: list[Budget]


class SetBudget(RequestShape):
    """A budget; the one of this scope and name is replaced. Give an amount, tokens, or both."""

    scope: Literal["workspace", "agent", "team"] = Field(
        description="What the budget applies to; a team is the label `team` of threads."
    )
    name: Annotated[str, Field(max_length=200)] = Field(
        "", description="The agent or the team; empty for the workspace."
    )
    max_cost: Annotated[str | None, Field(pattern=MAX_COST)] = Field(
        None, description="A decimal string."
    )
    max_tokens: int | None = Field(None, ge=0, le=10**15)
    at_full: Literal["notify", "stop"] = Field(
        "notify", description="At 100 %: notify people, or also stop the threads by a breaker."
    )
    active: bool = True


class Budgets(MemberView):
    """Budgets by calendar month (UTC)."""

    changes = "policy"

    @extend_schema(
        operation_id="budgets_list",
        responses={200: BudgetList, **refusals()},
        summary="List budgets, with what is spent this month",
    )
    def get(self, request: Request) -> Response:
        """Those that are switched off included."""
        results = [Budget.of(one) for one in budgets.budgets(self.actor)]
        return answer(BudgetList(results=results))

    @extend_schema(
        operation_id="budgets_set",
        request=SetBudget,
        responses={200: Budget, **refusals(422)},
        summary="Make or change a budget",
        description="At 80 % and 100 % a `budget.reached` notification is sent, once a month "
        "each. Changing a budget starts them over.",
    )
    def post(self, request: Request) -> Response:
        """One per scope and name."""
        row = actions.set_budget(self.actor, **self.body(SetBudget).model_dump())
        return answer(budget_now(budgets.budgets(self.actor), row.id))


def budget_now(standings: list[BudgetStanding], ident: UUID) -> Budget:
    """One of these budgets for the wire."""
    return next(Budget.of(one) for one in standings if one.row.id == ident)
