"""Budgets: what an agent, a team or the workspace may spend in a month."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import Annotated, Any, Final, Literal, Self
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_http_methods
from pydantic import Field

from checkpoints import queries
from checkpoints.queries import BudgetStanding
from checkpoints.queries.overview.budgets import whose
from checkpoints.states import WorkspaceEventKind
from checkpoints.store.overview import budgets as writer
from dashboard import errors
from dashboard.board.overview.figure import decimal_text
from dashboard.board.overview.page import budget_line
from dashboard.documents.state_shape import Shape
from dashboard.fields.shapes import Field as FormField
from dashboard.fields.shapes import Option
from dashboard.fields.typed_values import without_thousands
from dashboard.identity.permissions import Actor, may, require
from dashboard.kit.action import Action, read
from dashboard.kit.command import off_verb, verb
from dashboard.kit.inputs import declared, from_texts
from dashboard.kit.pages import forms
from dashboard.kit.pages.addresses import takes
from dashboard.kit.pages.base import SeeOther, actor, flash, member
from dashboard.kit.resource import reading
from dashboard.kit.shapes.requests import RequestShape
from dashboard.kit.terminal.console import PersonalCommand, Verb
from dashboard.kit.terminal.tables import Table, table

MAX_COST = r"^[0-9]{1,12}(\.[0-9]{1,6})?$"


# The row has decimals and shares; here amounts are text and shares per cent.
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
        default="", description="The agent or the team; empty for the workspace."
    )
    max_cost: Annotated[str, Field(json_schema_extra={"pattern": MAX_COST})] | None = Field(
        default=None, description="A decimal string such as 12.50."
    )
    max_tokens: int | None = Field(default=None, ge=0, le=10**15)
    at_full: Literal["notify", "stop"] = Field(
        default="notify",
        description="At 100 %: notify people, or also stop the threads by a breaker.",
    )
    active: bool = True


def standings(actor: Actor) -> list[BudgetStanding]:
    """All budgets with what is spent of them this month, also those that are switched off."""
    require(actor, "read")
    return queries.budget_standings(actor.workspace)


def budgets(actor: Actor) -> BudgetList:
    """The same for the wire."""
    return BudgetList(results=[Budget.of(one) for one in standings(actor)])


def set_budget(actor: Actor, wanted: SetBudget) -> Budget:
    """Make or change the budget of the workspace, an agent or a team, or switch it off."""
    values = wanted.model_dump() | {"name": wanted.name.strip()}
    row = writer.set_budget(actor.workspace, actor=actor.id, **values)
    return next(one for one in budgets(actor).results if one.id == row.id)


def _sentence(_: SetBudget, budget: Budget) -> str:
    off = "" if budget.active else ", and switched off"
    return f"The budget of {whose(budget.scope, budget.name)} is set{off}."


SET: Final = Action(
    name="budget.set",
    right="policy",
    takes=SetBudget,
    answers=Budget,
    perform=set_budget,
    events=(WorkspaceEventKind.BUDGET_CHANGED,),
    summary="Make or change a budget",
    description="At 80 % and 100 % a `budget.reached` notification is sent, once a month "
    "each. Changing a budget starts them over.",
    help="makes or changes a budget",
    done=_sentence,
    examples="budget set workspace --cost 500\nbudget set team growth --tokens 2000000 --stop",
)
BUDGETS: Final = reading(
    "budgets_list",
    BudgetList,
    budgets,
    summary="List budgets, with what is spent this month",
    description="Those that are switched off included.",
)


# --- command --------------------------------------------------------------------------------------


def _list_budgets(command: PersonalCommand) -> None:
    rows = standings(command.actor("read"))
    command.show(BudgetList(results=[Budget.of(one) for one in rows]), _table(rows))
    if not rows:
        command.say("There is no budget: nobody is notified of what is spent.")


def _show(command: PersonalCommand, actor: Actor, budget: Budget) -> None:
    command.show(budget, _table([one for one in standings(actor) if one.row.id == budget.id]))


def _table(rows: list[BudgetStanding]) -> Table:
    lines = [budget_line(one) for one in rows]
    return table(
        "",
        ("budget of", "at most", "spent", "%", "month ends at", "at 100 %", "is"),
        (
            (
                line.usage.row.whose,
                line.limit,
                line.spent,
                line.percent,
                line.forecast,
                line.usage.row.at_full,
                "on" if line.usage.row.active else "off",
            )
            for line in lines
        ),
    )


def _key_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("scope", choices=("workspace", "agent", "team"), help="whose spending")
    parser.add_argument("name", nargs="?", default="", help="the agent or the team")


def _stop_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--stop", action="store_true", help="stop the threads when it is spent")


VERBS: Final = (
    Verb("list", "lists budgets and what is spent of them", _list_budgets),
    verb(
        SET,
        _show,
        names={
            "scope": ("scope",),
            "name": ("name",),
            "max_cost": ("--cost", "AMOUNT"),
            "max_tokens": ("--tokens", "N"),
        },
        without=("at_full", "active"),
        beside=(_stop_option, lambda o: {"at_full": "stop"} if o["stop"] else {}),
    ),
    off_verb(
        SET,
        budgets,
        _show,
        _key_arguments,
        key=("scope", "name"),
        does="switches a budget off",
        missing="There is no such budget; `budget list` shows them.",
        example="budget off team growth",
    ),
)


# What people read for the values of a choice.
CHOICES: Final[Mapping[str, Sequence[Option]]] = {
    "scope": (
        Option("workspace", "The workspace"),
        Option("agent", "An agent"),
        Option("team", "A team"),
    ),
    "at_full": (
        Option("notify", "Notify people"),
        Option("stop", "Notify, and stop its threads"),
    ),
    "active": (Option("yes", "On"), Option("no", "Off")),
}


# --- page -----------------------------------------------------------------------------------------


@require_http_methods(["GET", "POST"])
@member
@takes()
def page(request: HttpRequest) -> HttpResponse:
    """Budgets of this month; an admin sets them here."""
    who, status = actor(request), 200
    texts = {name: request.POST.get(name, "").strip() for name in SetBudget.model_fields}
    problems: dict[str, str] = {}
    if request.method == "POST":
        try:
            wanted = read(SetBudget, _values(texts))
            flash(request, SET.done(wanted, SET.run(who, wanted)))
            return SeeOther(reverse("budgets"))
        except (errors.Forbidden, errors.Missing):
            raise
        except errors.ActionError as error:
            problems, status = forms.problems_of(error), error.status
    context = {
        "lines": [budget_line(one) for one in standings(who)],
        "agents": sorted({row.agent for row in queries.agents(workspace=who.workspace)}),
        "may_set": may(who, "policy"),
        "declared": _declared(texts if request.method == "POST" else {}, problems),
        "errors": problems,
    }
    return render(request, "administration/budgets.html", context, status=status)


def _declared(texts: Mapping[str, str], problems: Mapping[str, str]) -> dict[str, FormField]:
    """The inputs of the form; a name is chosen among the agents or written."""
    shown = declared(SetBudget, [*SetBudget.model_fields], texts, problems, CHOICES)
    name = shown["name"]
    return shown | {"name": replace(name, attrs=name.attrs | {"list": "agents"})}


def _values(texts: dict[str, str]) -> dict[str, Any]:
    """The input that the form gives; raises Invalid."""
    plain = {name: without_thousands(texts[name]) for name in ("max_cost", "max_tokens")}
    return from_texts(SetBudget, texts | plain) | {"active": texts["active"] != "no"}


vars(page)["action"] = SET
