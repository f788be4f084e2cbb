"""Subscriptions: what news of incidents a person or a team gets, by which endpoint, and when not.

Everybody chooses for themselves; admins choose for everybody, and alone for teams, chats, webhooks
and fixed addresses.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final
from uuid import UUID

from django.contrib.auth import get_user_model
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from pydantic import Field

from approvals.incidents import queries, subscriptions
from approvals.incidents.queries import SubscriptionRow
from approvals.incidents.subscriptions import Choice
from approvals.notify import queries as endpoints
from approvals.notify.texts.incident_kinds import ESCALATE_MAX, LABEL_MAX, TROUBLES
from approvals.notify.texts.kinds import PERSON_MAX
from checkpoints.limits import AGENT_MAX
from checkpoints.queries import agents
from checkpoints.states import WorkspaceEventKind
from dashboard import errors
from dashboard.documents.state_shape import Shape
from dashboard.errors import Forbidden, Invalid, Missing, translated
from dashboard.fields.parameters import FLAG
from dashboard.fields.shapes import Field as FormField
from dashboard.fields.shapes import Option
from dashboard.identity.people import people
from dashboard.identity.permissions import Actor, may, require
from dashboard.identity.seats import seat_of
from dashboard.kit.action import Action, Target, by_id, read
from dashboard.kit.command import listing, show_row, verb
from dashboard.kit.inputs import declared, from_texts, opened_on, opened_text
from dashboard.kit.pages import forms
from dashboard.kit.pages.addresses import takes
from dashboard.kit.pages.base import SeeOther, actor, flash, member, refused
from dashboard.kit.resource import reading
from dashboard.kit.shapes.requests import Nothing, RequestShape
from dashboard.kit.shapes.texts import Id, NotBlank, OneOf
from dashboard.kit.terminal.tables import Table, table
from dashboard.wording.fleet.incidents import LOOKS

from . import devices, quiet_hours
from .record_forms import RecordForms
from .usable_endpoints import usable_endpoints, writes_to_people

LABEL: Final = "^$|="
LIST, FORM = "administration/subscriptions.html", "administration/subscription.html"
HOME: Final = "subscriptions"
ADMINS_ONLY = "Only admins choose for others, for teams, and chats, webhooks or fixed addresses."


class SubscriptionList(Shape):
    """Subscriptions, the oldest first."""

    results: list[SubscriptionRow]


class ChangeSubscription(RequestShape):
    """Other values of a subscription; what is left out stays."""

    endpoint: Id | None = Field(default=None, description="The endpoint that notifications go to.")
    kinds: list[Annotated[str, OneOf(TROUBLES)]] | None = Field(
        default=None, description="The problems; empty: only what other subscriptions escalate."
    )
    agent: Annotated[str, Field(max_length=AGENT_MAX)] | None = Field(
        default=None, description="Only of this agent; empty: of all."
    )
    label: Annotated[str, Field(max_length=LABEL_MAX, pattern=LABEL)] | None = Field(
        default=None, description="Only of threads with this label, `key=value`; empty: of all."
    )
    urgent: bool | None = Field(default=None, description="During quiet hours as well.")
    escalate_to: Id | None = Field(
        default=None,
        description="The subscription that is notified when nobody is assigned to an incident.",
    )
    escalate_minutes: int | None = Field(
        default=None, ge=0, le=ESCALATE_MAX, description="Minutes until then; 0: never."
    )

    def choice(self) -> Choice:
        """For the floor below."""
        return Choice(**{name: getattr(self, name) for name in ChangeSubscription.model_fields})


class MakeSubscription(ChangeSubscription):
    """A new subscription: of the caller, unless a person or a team is named."""

    endpoint: Id = Field(description="The endpoint that notifications go to.")
    person: Annotated[str, NotBlank(PERSON_MAX)] | None = Field(
        default=None, description="A user name; admins only."
    )
    team: Annotated[str, NotBlank(PERSON_MAX)] | None = Field(
        default=None, description="The name of a team; admins only."
    )


@translated()
def list_subscriptions(actor: Actor, *, everybody: bool = False) -> list[SubscriptionRow]:
    """Those of the person and of their teams; with `everybody` all, for auditors and admins."""
    require(actor, "read")
    if everybody:
        if actor.roles.isdisjoint(("auditor", "admin")):
            raise Forbidden("Needs the role auditor or admin.")
        return queries.subscriptions(workspace=actor.workspace)
    return queries.subscriptions(
        workspace=actor.workspace, person=actor.person, teams=_teams(actor)
    )


def answer_subscriptions(actor: Actor, *, everybody: bool = False) -> SubscriptionList:
    """The same as an answer."""
    return SubscriptionList(results=list_subscriptions(actor, everybody=everybody))


@translated()
def one_subscription(actor: Actor, subscription_id: UUID) -> SubscriptionRow:
    """One subscription; of others only for auditors and admins."""
    require(actor, "read")
    row = queries.subscription(subscription_id, workspace=actor.workspace)
    if actor.roles.isdisjoint(("auditor", "admin")) and not _concerns(actor, row):
        raise Missing("There is no such subscription in this workspace.")
    return row


def make_subscription(actor: Actor, wanted: MakeSubscription) -> SubscriptionRow:
    """A new one, of the person who asks unless a user name or a team is given."""
    whose = "" if wanted.team else actor.person
    if wanted.person:
        whose = _person_named(wanted.person)
    choice = wanted.choice()
    _check(actor, whose, choice)
    with transaction.atomic():
        made = subscriptions.make(
            actor.workspace, choice, actor=actor.id, person=whose, team=wanted.team or ""
        )
        return queries.subscription(made, workspace=actor.workspace)


def change_subscription(
    actor: Actor, wanted: ChangeSubscription, subscription_id: UUID
) -> SubscriptionRow:
    """Other values; None leaves one as it is."""
    row, choice = _theirs(actor, subscription_id), wanted.choice()
    _check(actor, row.person, choice)
    with transaction.atomic():
        subscriptions.change(subscription_id, choice, workspace=actor.workspace, actor=actor.id)
        return queries.subscription(subscription_id, workspace=actor.workspace)


def remove_subscription(actor: Actor, _: Nothing, subscription_id: UUID) -> SubscriptionRow:
    """Send nothing more for it; what it was."""
    row = _theirs(actor, subscription_id)
    subscriptions.remove(subscription_id, workspace=actor.workspace, actor=actor.id)
    return row


def _theirs(actor: Actor, subscription_id: UUID) -> SubscriptionRow:
    """A subscription that the person may change."""
    row = one_subscription(actor, subscription_id)
    if row.person != actor.person and not may(actor, "notify"):
        raise Forbidden(ADMINS_ONLY)
    return row


def _check(actor: Actor, whose: str, choice: Choice) -> None:
    """Refuse what is for admins only, and credentials; raises Forbidden, Invalid."""
    if may(actor, "notify"):
        return
    if whose != actor.person:
        raise Forbidden(ADMINS_ONLY)
    if choice.endpoint is not None:
        known = {row.id: row for row in endpoints.endpoints(workspace=actor.workspace)}
        row = known.get(choice.endpoint)
        if row is not None and not writes_to_people(row):
            raise Forbidden(ADMINS_ONLY)
    if choice.escalate_to is not None:
        try:
            one_subscription(actor, choice.escalate_to)
        except Missing:
            message = "there is no such subscription of you or your teams"
            raise Invalid("$.escalate_to", message) from None


def _concerns(actor: Actor, row: SubscriptionRow) -> bool:
    return row.person == actor.person or row.team in _teams(actor)


def _teams(actor: Actor) -> tuple[str, ...]:
    return seat_of(actor)[1]


def _person_named(name: str) -> str:
    user = get_user_model()._default_manager.filter(username=name).first()
    if user is None:
        raise Invalid("$.person", f"nobody is called {name}")
    return f"user:{user.pk}"


SUBSCRIPTION: Final = Target(
    name="subscription",
    find=by_id("There is no such subscription; `subscription list` shows them."),
    metavar="ID",
)
MAKE: Final = Action(
    name="subscription.make",
    right="subscribe",
    takes=MakeSubscription,
    alternatives=("person", "team"),
    answers=SubscriptionRow,
    status=201,
    perform=make_subscription,
    events=(WorkspaceEventKind.SUBSCRIPTION_MADE,),
    summary="Subscribe to incidents",
    description="People subscribe themselves by endpoints that write to people. Admins "
    "subscribe everybody, and teams, by every endpoint.",
    help="subscribes you to incidents",
    done=lambda *_: "Subscribed.",
    examples="subscription create --endpoint mail --kind thread.failed --agent payments",
)
CHANGE: Final = Action(
    name="subscription.change",
    right="subscribe",
    target=SUBSCRIPTION,
    takes=ChangeSubscription,
    answers=SubscriptionRow,
    perform=change_subscription,
    events=(WorkspaceEventKind.SUBSCRIPTION_CHANGED,),
    summary="Change a subscription",
    description="Values that are left out stay.",
    help="changes a subscription; what is not named stays",
    done=lambda *_: "Changed.",
)
REMOVE: Final = Action(
    name="subscription.remove",
    right="subscribe",
    target=SUBSCRIPTION,
    takes=Nothing,
    answers=SubscriptionRow,
    perform=remove_subscription,
    events=(WorkspaceEventKind.SUBSCRIPTION_REMOVED,),
    summary="Remove a subscription",
    description="The subscription as it was; 409 while another one escalates to it.",
    help="removes a subscription",
    done=lambda *_: "Removed.",
)
ONE: Final = reading(
    "subscriptions_retrieve",
    SubscriptionRow,
    one_subscription,
    summary="A subscription",
    description="Of the caller or their teams; of others for auditors and admins.",
    refused=(404,),
)


ALL: Final = reading(
    "subscriptions_list",
    SubscriptionList,
    answer_subscriptions,
    summary="List your subscriptions and those of your teams",
    description="The oldest first.",
    refused=(422,),
    flags={"everybody": "Those of everybody; for auditors and admins."},
)


class SubscriptionForms(RecordForms):
    """The actions on subscriptions for the forms of the records."""

    def make(self, values: Mapping[str, Any], *, person: str, team: str) -> UUID:
        """A new one: its id."""
        require(self.actor, "notify")
        whose = {"person": person or None, "team": team or None}
        return MAKE.run(self.actor, read(MakeSubscription, {**values, **whose})).id

    def change(self, subscription_id: UUID, values: Mapping[str, Any]) -> None:
        """Other values."""
        require(self.actor, "notify")
        CHANGE.run(self.actor, read(ChangeSubscription, values), subscription_id)

    def remove(self, subscription_id: UUID) -> None:
        """Nothing more is sent."""
        require(self.actor, "notify")
        REMOVE.run(self.actor, Nothing(), subscription_id)


# --- command --------------------------------------------------------------------------------------


def _endpoint(actor: Actor, name: str) -> UUID:
    for row in usable_endpoints(actor):
        if name in (row.name, str(row.id)):
            return row.id
    raise Missing(f"There is no endpoint {name} that you may choose.")


def _table(rows: Sequence[SubscriptionRow]) -> Table:
    names = people({row.person for row in rows if row.person})
    return table(
        "",
        ("subscription", "whose", "by", "of", "agent", "label", "escalates"),
        (
            (
                str(row.id),
                row.team or names.get(row.person, row.person),
                row.endpoint_name,
                "all" if len(row.kinds) == len(TROUBLES) else ", ".join(row.kinds),
                row.agent,
                row.label,
                f"after {row.escalate_minutes} min" if row.escalate_to else "",
            )
            for row in rows
        ),
    )


def _escalated_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--only-escalated", action="store_true", help="only what others escalate to it"
    )


def _only_escalated(options: dict[str, Any]) -> dict[str, Any]:
    return {"kinds": []} if options["only_escalated"] else {}


NAMES: Final = {
    "endpoint": ("--endpoint", "NAME"),
    "kinds": ("--kind", "KIND"),
    "label": ("--label", "KEY=VALUE"),
    "escalate_to": ("--escalate-to", "ID"),
    "escalate_minutes": ("--escalate-minutes", "N"),
}
FINDS: Final = {"endpoint": _endpoint, "escalate_to": SUBSCRIPTION.find}
ESCALATED: Final = (_escalated_option, _only_escalated)
VERBS: Final = (
    listing(
        "lists your subscriptions",
        "read",
        answer_subscriptions,
        _table,
        empty="Nobody is subscribed.",
        flags={"everybody": "for auditors and admins"},
    ),
    verb(
        MAKE,
        show_row(_table),
        called="create",
        names=NAMES | {"person": ("--person", "USER")},
        finds=FINDS,
        beside=ESCALATED,
    ),
    verb(CHANGE, show_row(_table), names=NAMES, finds=FINDS, beside=ESCALATED),
    verb(REMOVE, show_row(_table)),
    quiet_hours.QUIET,
)


# --- page -----------------------------------------------------------------------------------------


@require_safe
@member
@takes(everybody=FLAG)
def index(request: HttpRequest) -> HttpResponse:
    """One's own subscriptions and quiet hours; ?everybody=1 shows auditors and admins all."""
    return _page(request, bool(request.GET.get("everybody", "")))


@require_http_methods(["GET", "POST"])
@member
def make(request: HttpRequest) -> HttpResponse:
    """Subscribe; what is refused comes back as it was written."""
    who = actor(request)
    if request.method != "POST":
        return _form(request, None, _usual(who), {}, 200)
    whose = {
        name: request.POST.get(name, "").strip() or None
        for name in ("person", "team")
        if may(who, "notify")
    }
    try:
        MAKE.run(who, read(MakeSubscription, _texts(request.POST) | whose))
    except (errors.Forbidden, errors.Missing):
        raise
    except errors.ActionError as error:
        return _form(request, None, request.POST, forms.problems_of(error), error.status)
    flash(request, "Subscribed.")
    return SeeOther(reverse(HOME))


@require_http_methods(["GET", "POST"])
@member
def change(request: HttpRequest, subscription_id: UUID) -> HttpResponse:
    """Change one; what is refused comes back as it was written."""
    who = actor(request)
    row = one_subscription(who, subscription_id)
    if request.method != "POST":
        return _form(request, row, _values(row), {}, 200)
    opened = opened_on(ChangeSubscription, request.POST, _opened(row))
    try:
        values = {n: v for n, v in _texts(request.POST).items() if opened.get(n) != v}
        CHANGE.run(who, read(ChangeSubscription, values), subscription_id)
    except (errors.Forbidden, errors.Missing):
        raise
    except errors.ActionError as error:
        return _form(request, row, request.POST, forms.problems_of(error), error.status)
    flash(request, "Changed.")
    return SeeOther(reverse(HOME))


@require_POST
@member
def remove(request: HttpRequest, subscription_id: UUID) -> HttpResponse:
    """Get nothing more for it."""
    try:
        REMOVE.run(actor(request), Nothing(), subscription_id)
    except errors.Conflict as error:
        return refused(request, error, back=reverse(HOME), label="To your notifications")
    flash(request, "Removed.")
    return SeeOther(reverse(HOME))


@require_POST
@member
def quiet(request: HttpRequest) -> HttpResponse:
    """Set quiet hours, or end them."""
    who, query = actor(request), request.POST
    try:
        hours = None if query.get("do", "") == "end" else quiet_hours.hours_of(query)
        wanted = quiet_hours.SetQuietHours(hours=hours)
        flash(request, quiet_hours.SET.done(wanted, quiet_hours.SET.run(who, wanted)))
    except errors.Invalid as error:
        return _page(request, False, forms.problems_of(error), query, error.status)
    return SeeOther(reverse(HOME))


def _page(
    request: HttpRequest,
    everybody: bool,
    problems: Mapping[str, str] | None = None,
    draft: Mapping[str, str] | None = None,
    status: int = 200,
) -> HttpResponse:
    who = actor(request)
    rows = list_subscriptions(who, everybody=everybody)
    hours = quiet_hours.own_quiet_hours(who)
    pushed = devices.list_devices(who)
    known = {row.id: row for row in rows}
    context = {
        "rows": [_shown(who, row, known) for row in rows],
        "people": people({row.person for row in rows if row.person}),
        "everybody": everybody,
        "oversees": not who.roles.isdisjoint(("auditor", "admin")),
        "endpoints": usable_endpoints(who),
        "devices": pushed.results,
        "push_key": pushed.public_key,
        "hours": hours,
        "declared": quiet_hours.form_of(hours, draft or {}, problems or {}),
        "errors": dict(problems or {}),
    }
    return render(request, LIST, context, status=status)


def _shown(
    who: Actor, row: SubscriptionRow, known: Mapping[UUID, SubscriptionRow]
) -> dict[str, Any]:
    """A row as the list shows it."""
    every = len(row.kinds) == len(TROUBLES)
    words = "Everything" if every else ", ".join(LOOKS[kind].word for kind in row.kinds)
    target = known.get(row.escalate_to) if row.escalate_to else None
    return {
        "row": row,
        "what": words or "Only what other subscriptions escalate",
        "target": target,
        "mine": row.person == who.person,
        "may_change": row.person == who.person or may(who, "notify"),
    }


def _form(
    request: HttpRequest,
    row: SubscriptionRow | None,
    values: Any,
    problems: dict[str, str],
    status: int,
) -> HttpResponse:
    who = actor(request)
    others = [
        one
        for one in list_subscriptions(who, everybody=may(who, "notify"))
        if row is None or one.id != row.id
    ]
    posted = hasattr(values, "getlist")
    chosen = values.getlist("kinds") if posted else values["kinds"]
    texts = values.dict() if posted else values
    context = {
        "row": row,
        "values": values,
        "kinds": [(kind, LOOKS[kind].word, kind in chosen) for kind in TROUBLES],
        "declared": _declared(who, others, texts, problems),
        "opened": opened_text(opened_on(ChangeSubscription, texts, _opened(row))) if row else "",
        "for_others": row is None and may(who, "notify"),
        "errors": problems,
    }
    return render(request, FORM, context, status=status)


def _declared(
    who: Actor,
    others: Sequence[SubscriptionRow],
    texts: Mapping[str, str],
    problems: Mapping[str, str],
) -> dict[str, FormField]:
    """The inputs of the form by name; what can be chosen is what there is."""
    names = people({one.person for one in others if one.person})
    known = {one.agent for one in agents(workspace=who.workspace)} | {texts.get("agent", "")}
    options = {
        "endpoint": [
            Option(str(one.id), f"{one.name} ({one.kind})") for one in usable_endpoints(who)
        ],
        "agent": [Option("", "All agents"), *(Option(one, one) for one in sorted(known - {""}))],
        "escalate_to": [
            Option("", "Nobody"),
            *(
                Option(
                    str(one.id),
                    f"{one.team or names.get(one.person, one.person)}, {one.endpoint_name}",
                )
                for one in others
            ),
        ],
    }
    shown = [name for name in MakeSubscription.model_fields if name not in ("kinds", "urgent")]
    return declared(MakeSubscription, shown, texts, problems, options)


def _usual(who: Actor) -> dict[str, Any]:
    usable = usable_endpoints(who)
    return {"kinds": list(TROUBLES), "endpoint": str(usable[0].id) if usable else ""}


def _opened(row: SubscriptionRow) -> dict[str, Any]:
    """The values that the form is opened on, as a call takes them."""
    return {
        "endpoint": str(row.endpoint),
        "kinds": [*row.kinds],
        "agent": row.agent,
        "label": row.label,
        "urgent": row.urgent,
        "escalate_to": row.escalate_to and str(row.escalate_to),
        "escalate_minutes": row.escalate_minutes or 0,
    }


def _values(row: SubscriptionRow) -> dict[str, Any]:
    return {
        "endpoint": str(row.endpoint),
        "kinds": row.kinds,
        "agent": row.agent,
        "label": row.label,
        "urgent": "1" if row.urgent else "",
        "escalate_to": str(row.escalate_to or ""),
        "escalate_minutes": str(row.escalate_minutes or ""),
    }


def _texts(query: Any) -> dict[str, Any]:
    """The input that a form gives; raises Invalid."""
    names = ChangeSubscription.model_fields.keys() - {"kinds"}
    texts = {name: query.get(name, "").strip() for name in names}
    texts["escalate_minutes"] = texts["escalate_minutes"] or "0"
    if not texts["escalate_to"] and texts["escalate_minutes"] != "0":
        raise errors.Invalid("$.escalate_minutes", "must be empty where nobody is escalated to")
    kinds = [kind for kind in query.getlist("kinds") if kind]
    empty = {"agent": "", "label": "", "urgent": False}
    return empty | from_texts(ChangeSubscription, texts) | {"kinds": kinds}


for _view, _action in ((make, MAKE), (change, CHANGE), (remove, REMOVE), (quiet, quiet_hours.SET)):
    vars(_view)["action"] = _action
