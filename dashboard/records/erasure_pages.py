"""Pages of erasure: what a request would drop, requests that wait for a second person, holds."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from checkpoints import queries
from checkpoints.queries.erasures import requests
from dashboard import errors
from dashboard.fields.parameters import one_of
from dashboard.identity.permissions import may, require
from dashboard.kit.action import Action, read
from dashboard.kit.inputs import fields_of, from_texts
from dashboard.kit.pages import forms
from dashboard.kit.pages.addresses import takes
from dashboard.kit.pages.base import SeeOther, actor, flash, member, thread_url

from . import erasures as erasures_read
from .erase import DECIDE_ERASURE, ERASE, DecideErasure, RequestErasure, erasure_plan
from .legal_holds import HOLD, LIFT_HOLD, holds

SHOWN = 20
# What the form of a thread can do: one reason, three buttons.
BUTTONS: dict[str, Action[Any, Any]] = {"request": ERASE, "hold": HOLD, "lift": LIFT_HOLD}


@require_http_methods(["GET", "POST"])
@member
@takes(scope=one_of(requests.SCOPES))
def erase(request: HttpRequest, thread_id: UUID) -> HttpResponse:
    """Request the erasure of a thread, or set and lift its legal hold; GET only counts."""
    who = actor(request)
    thread = queries.thread(thread_id, workspace=who.workspace)
    require(who, "request_erasure")
    query = request.POST if request.method == "POST" else request.GET
    scope = query.get("scope", "") or requests.SCOPES[0]
    if scope not in requests.SCOPES:
        raise errors.Invalid("$.scope", f"is not one of {', '.join(requests.SCOPES)}")

    def form(problems: dict[str, str], status: int) -> HttpResponse:
        plan = erasure_plan(who, scope, thread.id)
        context = {
            "thread": thread,
            "plan": plan,
            "scope": scope,
            "shown": plan.selection.threads[:SHOWN],
            "others": max(0, len(plan.selection.threads) - SHOWN),
            "hold": requests.hold(thread.id, workspace=who.workspace),
            "may_hold": may(who, "hold"),
            "fields": fields_of(RequestErasure, ["reason"], request.POST.dict(), problems, {}),
            "errors": problems,
        }
        return render(request, "records/erase.html", context, status=status)

    button = request.POST.get("do", "")
    if request.method != "POST" or button == "count":
        return form({}, 200)
    try:
        if button not in BUTTONS:
            raise errors.Invalid("$.do", "is not one of count, request, hold, lift")
        action = BUTTONS[button]
        wanted = read(action.takes, from_texts(action.takes, request.POST.dict()))
        result = action.run(who, wanted, thread.id)
    except (errors.Forbidden, errors.Missing):
        raise
    except errors.ActionError as error:
        return form(forms.problems_of(error), error.status)
    flash(request, action.done(wanted, result))
    made = reverse("erasure", args=[result.id]) if action is ERASE else thread_url(thread.id)
    return SeeOther(made)


@require_safe
@member
@takes()
def erasures(request: HttpRequest) -> HttpResponse:
    """Requests of the workspace for erasure and its legal holds: those that wait first."""
    who = actor(request)
    context = {"rows": erasures_read.erasures(who), "holds": holds(who)}
    return render(request, "records/erasures.html", context)


@require_http_methods(["GET", "POST"])
@member
@takes()
def erasure(request: HttpRequest, erasure_id: UUID) -> HttpResponse:
    """One request: what it would drop now; approve or refuse it."""
    who = actor(request)
    row = erasures_read.erasure(who, erasure_id)
    may_decide = may(who, "erase") and row.state == "requested"
    names = ["comment"] if may_decide else []

    def page(problems: dict[str, str], status: int) -> HttpResponse:
        context: dict[str, Any] = {
            "row": row,
            "errors": problems,
            "may_decide": may_decide,
            "fields": fields_of(DecideErasure, names, request.POST.dict(), problems, {}),
            "own": row.requested_by == who.person,
        }
        if row.state == "requested" and may(who, "request_erasure"):
            plan = erasure_plan(who, row.scope, row.thread)
            context |= {"plan": plan, "shown": plan.selection.threads[:SHOWN]}
        return render(request, "records/erasure.html", context, status=status)

    if request.method != "POST":
        return page({}, 200)
    try:
        wanted = read(DecideErasure, from_texts(DecideErasure, request.POST.dict()))
        result = DECIDE_ERASURE.run(who, wanted, erasure_id)
    except (errors.Forbidden, errors.Missing):
        raise
    except errors.ActionError as error:
        return page(forms.problems_of(error), error.status)
    flash(request, DECIDE_ERASURE.done(wanted, result))
    return SeeOther(reverse("erasure", args=[erasure_id]))
