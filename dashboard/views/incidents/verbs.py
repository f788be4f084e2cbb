"""Buttons of an incident: take, give back, snooze, wake, close."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_POST

from dashboard import actions, errors
from dashboard.views.base import SeeOther, actor, flash, member, refused, words_of


@require_POST
@member
def take(request: HttpRequest, incident_id: UUID) -> HttpResponse:
    """Take care of it."""
    return _do(
        request,
        incident_id,
        lambda: actions.take_incident(actor(request), incident_id),
        "The incident is assigned to you.",
        opposite="incident_give_back",
    )


@require_POST
@member
def give_back(request: HttpRequest, incident_id: UUID) -> HttpResponse:
    """Stop taking care of it."""
    return _do(
        request,
        incident_id,
        lambda: actions.give_back_incident(actor(request), incident_id),
        "The incident is unassigned.",
        opposite="incident_take",
    )


@require_POST
@member
def snooze(request: HttpRequest, incident_id: UUID) -> HttpResponse:
    """Let nobody get news of it for some hours."""
    hours = request.POST.get("hours", "")
    if not (hours.isascii() and hours.isdecimal() and len(hours) < 5):
        raise errors.Invalid("$.hours", "must be a whole number")
    span = timedelta(hours=int(hours))
    return _do(
        request,
        incident_id,
        lambda: actions.snooze_incident(actor(request), incident_id, span),
        "Nobody is notified of this incident until then.",
        opposite="incident_wake",
    )


@require_POST
@member
def wake(request: HttpRequest, incident_id: UUID) -> HttpResponse:
    """Let news of it come again at once."""
    return _do(
        request,
        incident_id,
        lambda: actions.wake_incident(actor(request), incident_id),
        "The snooze is over: people are notified of this incident again.",
    )


@require_POST
@member
def close(request: HttpRequest, incident_id: UUID) -> HttpResponse:
    """Close it with a reason."""
    reason = request.POST.get("reason", "")
    return _do(
        request,
        incident_id,
        lambda: actions.close_incident(actor(request), incident_id, reason),
        "Closed.",
    )


def _do(
    request: HttpRequest,
    incident_id: UUID,
    act: Callable[[], object],
    done: str,
    opposite: str = "",
) -> HttpResponse:
    back = reverse("incident", args=[incident_id])
    try:
        act()
    except (errors.Forbidden, errors.Missing):
        raise
    except errors.ActionError as error:
        error.detail = words_of(error)
        return refused(request, error, back=back, label="To the incident")
    undo = reverse(opposite, args=[incident_id]) if opposite else ""
    flash(request, done, opposite=undo)
    return SeeOther(back)
