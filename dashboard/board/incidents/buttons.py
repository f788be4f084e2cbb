"""Buttons of an incident's page: take, give back, snooze, wake, close."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.views.decorators.http import require_POST

from dashboard import errors
from dashboard.identity.permissions import require
from dashboard.kit.action import Action, read
from dashboard.kit.inputs import from_texts
from dashboard.kit.pages import forms
from dashboard.kit.pages.base import SeeOther, actor, flash, member, refused, words_of

from .close import CLOSE
from .snooze import SNOOZE, WAKE, time_after
from .take import GIVE_BACK, TAKE


def _button(
    action: Action[Any, Any],
    *,
    values: Callable[[Mapping[str, str]], dict[str, Any]] | None = None,
    opposite: str = "",
) -> Callable[..., HttpResponseBase]:
    """The view that a button posts to; a refusal is a page with its reason.

    `values` reads the input where the form says it otherwise than by a text a field, `opposite`
    names the address that takes it back.
    """

    @require_POST
    @member
    def view(request: HttpRequest, incident_id: UUID) -> HttpResponse:
        who, texts = actor(request), forms.posted(request)
        require(who, action.right)
        back = reverse(action.page, args=[incident_id])
        try:
            fields = values(texts) if values else from_texts(action.takes, texts)
            wanted = read(action.takes, fields)
            result = action.run(who, wanted, incident_id)
        except (errors.Forbidden, errors.Missing):
            raise
        except errors.ActionError as error:
            error.detail = words_of(error)
            return refused(request, error, back=back, label="To the incident")
        undo = reverse(opposite, args=[incident_id]) if opposite else ""
        flash(request, action.done(wanted, result), opposite=undo)
        return SeeOther(back)

    vars(view)["action"] = action
    return view


def _until(texts: Mapping[str, str]) -> dict[str, str]:
    hours = texts.get("hours", "")
    if not (hours.isascii() and hours.isdecimal() and len(hours) < 5):
        raise errors.Invalid("$.hours", "must be a whole number")
    return {"until": time_after(timedelta(hours=int(hours)))}


take = _button(TAKE, opposite="incident_give_back")
give_back = _button(GIVE_BACK, opposite="incident_take")
snooze = _button(SNOOZE, values=_until, opposite="incident_wake")
wake = _button(WAKE)
close = _button(CLOSE)
