"""Deputies of people who are away: who acts for whom, for a time or in one request.

Reviewers choose for themselves; admins, who look after people, choose for everybody.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Final
from uuid import UUID

from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST
from pydantic import Field

from approvals.deputies import changes
from approvals.deputies.changes import REASON_MAX, Period
from approvals.notify.recipients import deciders
from approvals.notify.texts.kinds import PERSON_MAX
from approvals.queries import deputies
from approvals.queries.deputies import DeputyRow
from checkpoints.states import WorkspaceEventKind
from dashboard import errors
from dashboard.approvals.deputies import possible_deputies
from dashboard.approvals.hand_over import HAND_OVER
from dashboard.documents.state_shape import Shape
from dashboard.errors import Forbidden, Invalid, Missing, translated
from dashboard.fields.parameters import FLAG
from dashboard.fields.shapes import Field as FormField
from dashboard.fields.shapes import Option
from dashboard.fields.typed_values import time_in_utc
from dashboard.identity.permissions import Actor, may, require
from dashboard.kit.action import Action, Target, by_id, read
from dashboard.kit.command import listing, show_row, verb
from dashboard.kit.inputs import declared
from dashboard.kit.pages import forms
from dashboard.kit.pages.addresses import takes
from dashboard.kit.pages.base import SeeOther, actor, flash, member
from dashboard.kit.resource import reading
from dashboard.kit.shapes.requests import Nothing, RequestShape
from dashboard.kit.shapes.texts import NotBlank, Time
from dashboard.kit.terminal.tables import Table, table

LIST, HOME = "administration/deputies.html", "deputies"
ADMINS_ONLY = "Only admins choose a deputy for somebody else."
Reason = Annotated[str, Field(max_length=REASON_MAX)]


class DeputyList(Shape):
    """Deputies of now and later, the first to begin first."""

    results: list[DeputyRow]


class NameDeputy(RequestShape):
    """A deputy of the caller for a time, or of whom an admin names."""

    deputy: Annotated[str, NotBlank(PERSON_MAX)] = Field(description="The user name of a reviewer.")
    begins: Time | None = Field(default=None, description="Now unless given.")
    ends: Time = Field(description="At most 366 days later.")
    reason: Reason = Field(default="", description="For people to read; it is on record.")
    person: Annotated[str, NotBlank(PERSON_MAX)] | None = Field(
        default=None, description="The user name of who is away; admins only."
    )


@translated()
def list_deputies(actor: Actor, *, everybody: bool = False) -> list[DeputyRow]:
    """Those of the person and those whose deputy they are; with `everybody` all."""
    require(actor, "read")
    if everybody:
        if actor.roles.isdisjoint(("auditor", "admin")):
            raise Forbidden("Needs the role auditor or admin.")
        return deputies.listed(actor.workspace)
    return deputies.listed(actor.workspace, person=actor.person)


def answer_deputies(actor: Actor, *, everybody: bool = False) -> DeputyList:
    """The same as an answer."""
    return DeputyList(results=list_deputies(actor, everybody=everybody))


def name_deputy(actor: Actor, wanted: NameDeputy) -> DeputyRow:
    """Let a reviewer (by user name) act for the person, or for whom they name, for a time."""
    whose = actor.person
    if wanted.person:
        whose = _reviewer(actor, "$.person", wanted.person)
    if whose != actor.person and not may(actor, "people"):
        raise Forbidden(ADMINS_ONLY)
    acts = _reviewer(actor, "$.deputy", wanted.deputy)
    if acts == actor.person != whose:
        # An admin who is a reviewer as well would decide in another's place by their own word.
        raise Forbidden("You cannot name yourself somebody's deputy: another admin has to.")
    with transaction.atomic():
        made = changes.name_deputy(
            actor.workspace,
            whose,
            acts,
            Period(wanted.begins, wanted.ends),
            reason=wanted.reason,
            actor=actor.id,
        )
        return deputies.deputy(made, workspace=actor.workspace)


def remove_deputy(actor: Actor, _: Nothing, deputy_id: UUID) -> DeputyRow:
    """End a deputy's right, or withdraw a request that was handed over; what it was."""
    row = deputies.deputy(deputy_id, workspace=actor.workspace)
    # A deputy may lay the task down as well.
    if actor.person not in (row.person, row.deputy) and not may(actor, "people"):
        raise Missing("There is no such deputy in this workspace.")
    changes.remove_deputy(deputy_id, workspace=actor.workspace, actor=actor.id)
    return row


def _reviewer(actor: Actor, path: str, name: str) -> str:
    for one in deciders(actor.workspace):
        if one.name == name:
            return one.id
    raise Invalid(path, f"no active reviewer of this workspace is called {name}")


DEPUTY: Final = Target(
    name="id", find=by_id("There is no such deputy in this workspace."), metavar="ID"
)
NAME: Final = Action(
    name="deputy.name",
    call_id="deputies_name",
    right="delegate",
    takes=NameDeputy,
    answers=DeputyRow,
    status=201,
    perform=name_deputy,
    events=(WorkspaceEventKind.DEPUTY_NAMED,),
    summary="Name a deputy for while you are away",
    description="The deputy decides what you could decide, in their own name and yours. Four "
    "eyes and stages look at the person who acts.",
    help="names a deputy for while you are away",
    done=lambda _, row: f"{row.deputy_name} acts for {row.person_name} in that time.",
    examples="deputy name grace --from 2026-12-01 --until 2026-12-15 --reason holiday",
)
REMOVE: Final = Action(
    name="deputy.remove",
    call_id="deputies_remove",
    right="delegate",
    target=DEPUTY,
    takes=Nothing,
    answers=DeputyRow,
    perform=remove_deputy,
    events=(WorkspaceEventKind.DEPUTY_REMOVED,),
    summary="End a deputy's right, or withdraw a request that was handed over",
    description="The deputy as it was.",
    help="ends a deputy's right, or withdraws a request that was handed over",
    done=lambda _, row: f"{row.deputy_name} no longer acts for {row.person_name}.",
)


ALL: Final = reading(
    "deputies_list",
    DeputyList,
    answer_deputies,
    summary="List your deputies, and whose deputy you are",
    description="The first to begin first.",
    refused=(422,),
    flags={"everybody": "Those of everybody; for auditors and admins."},
)


# --- command --------------------------------------------------------------------------------------


def _times(options: dict[str, Any]) -> dict[str, str]:
    begins = {"begins": _time("--from", options["begins"])} if options["begins"] else {}
    return begins | {"ends": _time("--until", options["until"])}


def _time(option: str, text: str) -> str:
    try:
        return time_in_utc(text).isoformat()
    except ValueError:
        raise Invalid(option, "is written 2026-12-01, or 2026-12-01T08:00+01:00") from None


def _table(rows: Sequence[DeputyRow]) -> Table:
    return table(
        "",
        ("id", "of", "deputy", "from", "until", "reason"),
        (
            (
                str(row.id),
                row.person_name,
                row.deputy_name,
                f"{row.begins:%Y-%m-%d %H:%M}",
                f"{row.ends:%Y-%m-%d %H:%M}" if row.ends else f"decided: {row.title}",
                row.reason,
            )
            for row in rows
        ),
    )


def _time_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--until", required=True, metavar="TIME", help="a day or a time, else UTC")
    parser.add_argument("--from", dest="begins", metavar="TIME", help="now unless given")


VERBS: Final = (
    listing(
        "lists your deputies, and whose deputy you are",
        "read",
        answer_deputies,
        _table,
        empty="There are no deputies.",
        flags={"everybody": "for auditors and admins"},
    ),
    verb(
        NAME,
        show_row(_table),
        names={"deputy": ("deputy", "USER"), "person": ("--person", "USER")},
        without=("begins", "ends"),
        beside=(_time_options, _times),
    ),
    verb(REMOVE, show_row(_table)),
    verb(HAND_OVER, show_row(_table), names={"to": ("to", "USER")}),
)


# --- page -----------------------------------------------------------------------------------------


@require_http_methods(["GET", "POST"])
@member
@takes(everybody=FLAG)
def index(request: HttpRequest) -> HttpResponse:
    """One's deputies and whose deputy one is; a POST names one. ?everybody=1 shows all of them."""
    if request.method != "POST":
        return _page(request, {}, {}, 200)
    who, query = actor(request), request.POST
    try:
        texts = {name: forms.text(request, name) for name in ("deputy", "reason")}
        if may(who, "people"):
            texts |= {"person": query.get("person", "").strip()}
        days = {"begins": _day(query, "begins"), "ends": _day(query, "ends") + timedelta(days=1)}
        times = {name: day.isoformat() for name, day in days.items()}
        values = {name: text for name, text in texts.items() if text}
        wanted = read(NameDeputy, values | times)
        flash(request, NAME.done(wanted, NAME.run(who, wanted)))
    except errors.Invalid as error:
        return _page(request, query, forms.problems_of(error), error.status)
    return SeeOther(reverse(HOME))


@require_POST
@member
def remove(request: HttpRequest, deputy_id: UUID) -> HttpResponse:
    """End a deputy's right, or withdraw a request that was handed over."""
    row = REMOVE.run(actor(request), Nothing(), deputy_id)
    flash(request, REMOVE.done(Nothing(), row))
    return SeeOther(reverse(HOME))


vars(index)["action"], vars(remove)["action"] = NAME, REMOVE


def _page(
    request: HttpRequest, draft: Mapping[str, str], problems: Mapping[str, str], status: int
) -> HttpResponse:
    who = actor(request)
    everybody = bool(request.GET.get("everybody", ""))
    rows = list_deputies(who, everybody=everybody)
    known = possible_deputies(who) if may(who, "delegate") else []
    reviewers = [Option(one.name, one.shown) for one in known]
    you = [Option("", "You")] if may(who, "decide") else []
    options = {"deputy": reviewers, "person": [*you, *reviewers]}
    context: dict[str, Any] = {
        "rows": rows,
        "me": who.person,
        "everybody": everybody,
        "oversees": not who.roles.isdisjoint(("auditor", "admin")),
        "may_name": may(who, "delegate"),
        "for_others": may(who, "people"),
        "reviewers": reviewers,
        "declared": _declared(draft, problems, options),
        "errors": dict(problems),
    }
    return render(request, LIST, context, status=status)


def _declared(
    draft: Mapping[str, str], problems: Mapping[str, str], options: Mapping[str, Sequence[Option]]
) -> dict[str, FormField]:
    """The inputs of the form; it takes whole days where a call takes times."""
    shown = declared(NameDeputy, [*NameDeputy.model_fields], draft, problems, options)
    today = datetime.now(UTC).date()
    days = {"begins": today, "ends": today + timedelta(days=7)}
    for name, day in days.items():
        value = draft.get(name, f"{day}")
        shown[name] = replace(shown[name], kind="date", value=value, help="", required=True)
    return shown


def _day(query: Mapping[str, str], name: str) -> datetime:
    try:
        return datetime.strptime(query.get(name, "").strip(), "%Y-%m-%d").replace(tzinfo=UTC)
    except ValueError:
        raise errors.Invalid(f"$.{name}", "must be a day, such as 2026-12-01") from None
