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
from dashboard import actions, errors
from dashboard.actions.erasure import erasures as rooms
from dashboard.fields.parameters import one_of
from dashboard.identity.permissions import may, require

from . import forms
from .addresses import takes
from .base import SeeOther, actor, flash, member, thread_url

SHOWN = 20
VERDICTS = ("approve", "refuse")


@require_http_methods(["GET", "POST"])
@member
@takes(scope=one_of(requests.SCOPES))
def erase(request: HttpRequest, thread_id: UUID) -> HttpResponse:
    """Request the erasure of a thread, or set and lift its legal hold; GET only counts."""
    who = actor(request)
    thread = queries.thread(thread_id, workspace=who.workspace)
    if not may(who, "hold"):
        require(who, "request_erasure")
    query = request.POST if request.method == "POST" else request.GET
    scope = query.get("scope", "") or requests.SCOPES[0]
    reason = request.POST.get("reason", "").strip()
    if scope not in requests.SCOPES:
        raise errors.Invalid("$.scope", f"is not one of {', '.join(requests.SCOPES)}")

    def form(problems: dict[str, str], status: int) -> HttpResponse:
        plan = rooms.preview_erasure(who, thread.id, scope)
        context = {
            "thread": thread,
            "plan": plan,
            "scope": scope,
            "shown": plan.selection.threads[:SHOWN],
            "others": max(0, len(plan.selection.threads) - SHOWN),
            "hold": requests.hold(thread.id, workspace=who.workspace),
            "may_hold": may(who, "hold"),
            "reason": reason,
            "errors": problems,
        }
        return render(request, "erasure/request.html", context, status=status)

    action = request.POST.get("do", "")
    if request.method != "POST" or action == "count":
        return form({}, 200)
    try:
        if action == "hold":
            actions.set_hold(who, thread.id, reason)
            flash(request, "A legal hold is set: nothing of this thread is erased.")
        elif action == "lift":
            actions.lift_hold(who, thread.id, reason)
            flash(request, "The legal hold is lifted.")
        elif action == "request":
            row = actions.request_erasure(who, thread.id, scope, reason)
            flash(request, "Requested. Nothing is erased before somebody else approves it.")
            return SeeOther(reverse("erasure", args=[row.id]))
        else:
            raise errors.Invalid("$.do", "is not one of count, request, hold, lift")
    except (errors.Forbidden, errors.Missing):
        raise
    except errors.ActionError as error:
        return form(forms.problems_of(error), error.status)
    return SeeOther(thread_url(thread.id))


@require_safe
@member
@takes()
def erasures(request: HttpRequest) -> HttpResponse:
    """Requests of the workspace for erasure and its legal holds: those that wait first."""
    who = actor(request)
    context = {"rows": rooms.erasures(who), "holds": rooms.holds(who)}
    return render(request, "erasure/list.html", context)


@require_http_methods(["GET", "POST"])
@member
@takes()
def erasure(request: HttpRequest, erasure_id: UUID) -> HttpResponse:
    """One request: what it would drop now; approve or refuse it."""
    who = actor(request)
    row = rooms.erasure(who, erasure_id)
    comment = request.POST.get("comment", "").strip()

    def page(problems: dict[str, str], status: int) -> HttpResponse:
        context: dict[str, Any] = {
            "row": row,
            "comment": comment,
            "errors": problems,
            "may_decide": may(who, "erase") and row.state == "requested",
            "own": row.requested_by == who.person,
        }
        if row.state == "requested" and may(who, "request_erasure"):
            plan = rooms.preview_erasure(who, row.thread, row.scope)
            context |= {"plan": plan, "shown": plan.selection.threads[:SHOWN]}
        return render(request, "erasure/detail.html", context, status=status)

    if request.method != "POST":
        return page({}, 200)
    verdict = request.POST.get("verdict", "")
    try:
        if verdict not in VERDICTS:
            raise errors.Invalid("$.verdict", f"is not one of {', '.join(VERDICTS)}")
        actions.decide_erasure(who, erasure_id, verdict == "approve", comment)
    except (errors.Forbidden, errors.Missing):
        raise
    except errors.ActionError as error:
        return page(forms.problems_of(error), error.status)
    flash(request, "Approved: the content is being erased." if verdict == "approve" else "Refused.")
    return SeeOther(reverse("erasure", args=[erasure_id]))
