"""A person's subscriptions to news of incidents, and quiet hours."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import time
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from approvals.incidents.queries import SubscriptionRow
from approvals.incidents.subscriptions import Choice
from approvals.notify.texts.incident_kinds import TROUBLES
from checkpoints import queries
from dashboard import actions, errors
from dashboard.actions.fleet import devices, subscriptions
from dashboard.fields.parameters import FLAG
from dashboard.identity.people import people
from dashboard.identity.permissions import Actor, may
from dashboard.views import forms
from dashboard.views.addresses import takes
from dashboard.views.base import SeeOther, actor, flash, member, refused
from dashboard.wording.fleet.incidents import LOOKS

LIST, FORM = "incident/subscriptions.html", "incident/subscription.html"
HOME = "subscriptions"


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
        name: request.POST.get(name, "").strip()
        for name in ("person", "team")
        if may(who, "notify")
    }
    try:
        actions.make_subscription(who, _choice(request.POST), **whose)
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
    row = subscriptions.one_subscription(who, subscription_id)
    if request.method != "POST":
        return _form(request, row, _values(row), {}, 200)
    try:
        actions.change_subscription(who, subscription_id, _choice(request.POST))
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
        actions.remove_subscription(actor(request), subscription_id)
    except errors.Conflict as error:
        return refused(request, error, back=reverse(HOME), label="To your notifications")
    flash(request, "Removed.")
    return SeeOther(reverse(HOME))


@require_POST
@member
def quiet(request: HttpRequest) -> HttpResponse:
    """Set quiet hours, or end them."""
    who, query = actor(request), request.POST
    if query.get("do", "") == "end":
        actions.set_quiet_hours(who, None)
        flash(request, "Notifications come at any hour.")
        return SeeOther(reverse(HOME))
    try:
        span = _clock(query, "begins"), _clock(query, "ends")
        actions.set_quiet_hours(who, span, query.get("zone", "").strip())
    except errors.Invalid as error:
        return _page(request, False, forms.problems_of(error), query, error.status)
    flash(request, "Set.")
    return SeeOther(reverse(HOME))


def _page(
    request: HttpRequest,
    everybody: bool,
    problems: Mapping[str, str] | None = None,
    draft: Mapping[str, str] | None = None,
    status: int = 200,
) -> HttpResponse:
    who = actor(request)
    rows = subscriptions.list_subscriptions(who, everybody=everybody)
    hours = subscriptions.own_quiet_hours(who)
    stored = {
        "begins": f"{hours.begins:%H:%M}" if hours else "22:00",
        "ends": f"{hours.ends:%H:%M}" if hours else "07:00",
        "zone": hours.zone if hours else "UTC",
    }
    known = {row.id: row for row in rows}
    context = {
        "rows": [_shown(who, row, known) for row in rows],
        "people": people({row.person for row in rows if row.person}),
        "everybody": everybody,
        "oversees": not who.roles.isdisjoint(("auditor", "admin")),
        "endpoints": subscriptions.usable_endpoints(who),
        "devices": devices.list_devices(who),
        "push_key": devices.push_key(who),
        "hours": hours,
        "quiet": stored if draft is None else draft,
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
        for one in subscriptions.list_subscriptions(who, everybody=may(who, "notify"))
        if row is None or one.id != row.id
    ]
    chosen = values.getlist("kinds") if hasattr(values, "getlist") else values["kinds"]
    context = {
        "row": row,
        "values": values,
        "kinds": [(kind, LOOKS[kind].word, kind in chosen) for kind in TROUBLES],
        "endpoints": subscriptions.usable_endpoints(who),
        "agents": sorted({one.agent for one in queries.agents(workspace=who.workspace)}),
        "others": others,
        "people": people({one.person for one in others if one.person}),
        "for_others": row is None and may(who, "notify"),
        "errors": problems,
    }
    return render(request, FORM, context, status=status)


def _usual(who: Actor) -> dict[str, Any]:
    usable = subscriptions.usable_endpoints(who)
    return {"kinds": list(TROUBLES), "endpoint": str(usable[0].id) if usable else ""}


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


def _choice(query: Any) -> Choice:
    """The values of a form; raises Invalid."""
    minutes = query.get("escalate_minutes", "").strip() or "0"
    if not (minutes.isascii() and minutes.isdecimal() and len(minutes) < 7):
        raise errors.Invalid("$.escalate_minutes", "must be a whole number")
    return Choice(
        endpoint=_ident(query, "endpoint"),
        kinds=[kind for kind in query.getlist("kinds") if kind],
        agent=query.get("agent", ""),
        label=query.get("label", ""),
        urgent=bool(query.get("urgent", "")),
        escalate_to=_ident(query, "escalate_to"),
        escalate_minutes=int(minutes),
    )


def _ident(query: Mapping[str, str], name: str) -> UUID | None:
    text = query.get(name, "").strip()
    try:
        return UUID(text) if text else None
    except ValueError:
        raise errors.Invalid(f"$.{name}", "is not an id") from None


def _clock(query: Mapping[str, str], name: str) -> time:
    try:
        return time.fromisoformat(query.get(name, "").strip())
    except ValueError:
        raise errors.Invalid(f"$.{name}", "is written 22:00") from None
