"""Retention rules: how many days after their end threads of an agent are erased."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Annotated, Any, Final, cast
from uuid import UUID

from django.db import transaction
from django.db.models.functions import Now
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_http_methods
from pydantic import Field, RootModel

from checkpoints import queries
from checkpoints.limits import AGENT_MAX
from checkpoints.models import RetentionRule as RuleRow
from checkpoints.queries.erasures import rules
from checkpoints.queries.erasures.rules import COUNTED_MAX
from checkpoints.signals import announce_board
from checkpoints.states import WorkspaceEventKind
from checkpoints.store.installation import recorded_rows
from dashboard.documents.state_shape import Shape
from dashboard.errors import ActionError, Forbidden, Missing
from dashboard.fields.shapes import Field as FormField
from dashboard.fields.shapes import Option
from dashboard.identity.people import people
from dashboard.identity.permissions import Actor, may, require
from dashboard.kit.action import Action, Preview, read
from dashboard.kit.command import listing, off_verb, show_row, verb
from dashboard.kit.inputs import declared, from_texts
from dashboard.kit.pages import record_pages
from dashboard.kit.pages.addresses import takes
from dashboard.kit.pages.base import SeeOther, flash
from dashboard.kit.pages.forms import posted, problems_of
from dashboard.kit.resource import reading
from dashboard.kit.shapes.requests import RequestShape
from dashboard.kit.terminal.console import facts
from dashboard.kit.terminal.tables import Table, table
from dashboard.kit.whole_settings import switch_off
from dashboard.wording.savings import counted

FLOOR_DAYS, MOST_DAYS = 1, 36_500
MISSING: Final = "There is no such rule in this workspace."


# Read from the model, whose row is locked; the reader of rules belongs to the sweep.
class RetentionRule(Shape):
    """A rule; `agent` is empty for all agents without one of their own."""

    id: UUID
    agent: str
    days: int
    archive: bool
    active: bool
    set_by: str
    set_at: datetime


class RetentionList(Shape):
    """All rules of the workspace, by agent."""

    results: list[RetentionRule]


class RetentionPreview(Shape):
    """The number of threads such a rule would erase now, counted up to 10,001."""

    due: int


class RetentionAnswer(RootModel[RetentionRule | RetentionPreview]):
    """The rule; with `?preview=1` what it would erase."""


class SetRetention(RequestShape):
    """The number of days after its end a thread is erased."""

    days: int = Field(
        ge=FLOOR_DAYS, le=MOST_DAYS, description="Days after the end of a thread, at least 1."
    )
    agent: Annotated[str, Field(max_length=AGENT_MAX)] = Field(
        default="", description="Empty: all agents without a rule of their own."
    )
    archive: bool = Field(
        default=False, description="Put a capsule of it into the file store first."
    )
    active: bool = Field(default=True, description="False switches the rule off.")


def retention_rules(actor: Actor) -> RetentionList:
    """All rules of the workspace, also those that are switched off."""
    require(actor, "read")
    rows = RuleRow.objects.filter(workspace_id=actor.workspace).order_by("agent")
    return RetentionList(results=[RetentionRule.model_validate(row) for row in rows])


def preview_retention(actor: Actor, wanted: SetRetention) -> RetentionPreview:
    """Count the threads that such a rule would erase now."""
    due = rules.count_due(actor.workspace, agent=wanted.agent, days=wanted.days)
    return RetentionPreview(due=due)


def set_retention(actor: Actor, wanted: SetRetention) -> RetentionRule:
    """Set the rule of an agent, or with "" that of all agents without one of their own."""
    values = wanted.model_dump()
    who = {"set_by": actor.id, "set_at": Now()}
    with transaction.atomic():
        row = recorded_rows.lock(RuleRow, actor.workspace, agent=wanted.agent)
        row = row or RuleRow(workspace_id=actor.workspace)
        data = {"rule": str(row.id), **values}
        kind = WorkspaceEventKind.RETENTION_CHANGED
        recorded_rows.save(row, values, kind, actor=actor.id, data=data, also=who)
        announce_board(actor.workspace)
    return RetentionRule.model_validate(row)


def _whose(agent: str) -> str:
    return agent or "all agents without a rule of their own"


def _sentence(_: SetRetention | None, rule: RetentionRule) -> str:
    if not rule.active:
        return f"The rule of {_whose(rule.agent)} is switched off."
    return (
        f"Threads of {_whose(rule.agent)} are erased {counted(rule.days, 'day')} after their end."
    )


SET: Final = Action(
    name="retention.set",
    call_id="retention_set",
    right="retention",
    takes=SetRetention,
    answers=RetentionRule,
    preview=Preview(takes=SetRetention, answers=RetentionAnswer, look=preview_retention),
    perform=set_retention,
    events=(WorkspaceEventKind.RETENTION_CHANGED,),
    summary="Set how long finished threads of an agent stay",
    description="Threads that are due are erased a few at a time, each erasure names the rule. "
    "A legal hold, a fork or a child that is not due yet lets a thread stay. With `?preview=1` "
    "nothing is set, and the answer counts the threads that are due by it.",
    help="sets how long finished threads stay",
    done=_sentence,
    examples="retention set 90 --agent payments --archive",
)
RULES: Final = reading(
    "retention_list",
    RetentionList,
    retention_rules,
    summary="List retention rules",
    description="Those that are switched off as well.",
)


# --- command --------------------------------------------------------------------------------------


def _table(shown: list[RetentionRule]) -> Table:
    return table(
        "",
        ("agent", "days after the end", "archive", "is"),
        (
            (
                *(one.agent or "all others", one.days, "yes" if one.archive else "no"),
                "on" if one.active else "off",
            )
            for one in shown
        ),
    )


def _agent_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--agent", default="", help="without it all agents without a rule")


def _question(wanted: SetRetention, plan: RetentionPreview) -> str:
    whose = _whose(wanted.agent)
    return f"Erase threads of {whose} after {wanted.days} days: {_many(plan.due)} now?"


def _many(due: int) -> str:
    if due >= COUNTED_MAX:
        return f"more than {COUNTED_MAX - 1:,} threads"
    return counted(due, "thread")


VERBS: Final = (
    listing("lists retention rules", "read", retention_rules, _table),
    verb(
        SET,
        show_row(_table),
        names={"days": ("days",)},
        without=("active",),
        plan_table=lambda plan: facts("", [("due now", _many(plan.due))]),
        question=_question,
    ),
    off_verb(
        SET,
        retention_rules,
        show_row(_table),
        _agent_option,
        key=("agent",),
        does="switches a rule off",
        missing=MISSING,
        example="retention off --agent payments",
    ),
)


# What people read for the values of a choice.
CHOICES: Final[Mapping[str, Sequence[Option]]] = {
    "archive": (Option("false", "Nothing"), Option("true", "A capsule of each thread")),
    "active": (Option("true", "On"), Option("false", "Off")),
}


# --- page -----------------------------------------------------------------------------------------


@require_http_methods(["GET", "POST"])
@takes()
def page(request: HttpRequest) -> HttpResponse:
    """All rules; a form that counts the threads due by a new one, then sets it."""
    who = record_pages.actor(request)
    texts, status = posted(request), 200
    context: dict[str, Any] = {"errors": {}}
    if request.method == "POST":
        try:
            if "off" in texts:
                rule = switch_off(SET, who, retention_rules, missing=MISSING, agent=texts["off"])
                return _done(request, _sentence(None, rule))
            wanted = read(SetRetention, from_texts(SetRetention, texts))
            seen = f"{wanted.days}:{wanted.agent}"
            # A rule erases threads by itself, so it is set only after its threads were counted.
            if not wanted.active or texts.get("counted") == seen:
                return _done(request, SET.done(wanted, SET.run(who, wanted)))
            plan = cast(RetentionPreview, SET.plan(who, wanted))
            context |= {"due": _many(plan.due), "seen": seen}
        except (Forbidden, Missing):
            raise
        except ActionError as error:
            context["errors"], status = problems_of(error), error.status
    shown = retention_rules(who).results
    names = people(one.set_by for one in shown)
    context |= {
        "declared": _declared(texts, context["errors"]),
        "rules": [{"row": one, "by": names.get(one.set_by, one.set_by)} for one in shown],
        "agents": sorted({row.agent for row in queries.agents(workspace=who.workspace)}),
        "may_change": may(who, "retention"),
    }
    template, title = "administration/retention.html", "Set a retention rule"
    return record_pages.page(request, template, title, context, status=status)


def _done(request: HttpRequest, message: str) -> HttpResponse:
    flash(request, message)
    return SeeOther(reverse("admin:retention"))


def _declared(texts: Mapping[str, str], problems: Mapping[str, str]) -> dict[str, FormField]:
    """The inputs of the form; an agent is chosen among those that are there, or written."""
    shown = declared(SetRetention, [*SetRetention.model_fields], texts, problems, CHOICES)
    agent = shown["agent"]
    return shown | {"agent": replace(agent, attrs=agent.attrs | {"list": "agents"})}
