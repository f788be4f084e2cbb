"""Cancel a thread: a preview of what it did and whether that is undone, then the cancel."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_http_methods

from checkpoints import queries
from dashboard import errors
from dashboard.identity.permissions import allowed_actions, require
from dashboard.kit.inputs import declared
from dashboard.kit.pages import forms
from dashboard.kit.pages.base import SeeOther, actor, flash, member, refused, thread_url, version_of
from dashboard.threads.cancel import Cancel, CancelPlan, preview_cancel
from dashboard.threads.cancel import cancel as cancel_thread
from dashboard.wording.interruptions import children_words, interrupted


@require_http_methods(["GET", "POST"])
@member
def cancel(request: HttpRequest, thread_id: UUID) -> HttpResponse:
    """End it for good; a refusal comes back with what was written."""
    who = actor(request)
    require(who, "cancel")
    thread = queries.thread(thread_id, workspace=who.workspace)
    posted = request.method == "POST"
    reason = forms.text(request, "reason")
    undo = bool(request.POST.get("undo"))
    undo_unknown = bool(request.POST.get("undo_unknown"))
    children = bool(request.POST.get("children"))

    def form(problems: dict[str, str], status: int) -> HttpResponse:
        plan = preview_cancel(who, thread.id)
        maybe = [f for f in plan.effects if f.fate == "unknown" and f.activity.undo]
        if not maybe and "undo_unknown" in problems:
            # Its box is not on this page, so the message stands above the form.
            message = problems.pop("undo_unknown")
            problems[""] = f"Undoing effects with an unknown outcome {message}."
        context = {
            "thread": plan.thread,
            "fates": plan.all_effects,
            "target": plan.target,
            "undoable_unknown": len(maybe),
            "interrupted": _cut_off(plan),
            "withdrawn": plan.approvals,
            "declared": declared(Cancel, ["reason"], request.POST.dict(), problems),
            "undo": undo,
            "undo_unknown": undo_unknown,
            "below": children_words(plan.children),
            "children": children,
            "errors": problems,
        }
        return render(request, "threads/cancel.html", context, status=status)

    allowance = allowed_actions(who, thread)["cancel"]
    if not allowance.allowed:
        return refused(request, errors.NotAllowedNow(allowance.why), back=thread_url(thread.id))
    if not posted:
        return form({}, 200)
    try:
        plan = cancel_thread(
            *(who, thread.id, reason, undo, undo_unknown),
            children=children,
            expected_version=version_of(request),
        )
    except (errors.Forbidden, errors.Missing):
        raise
    except errors.ActionError as error:
        return form(forms.problems_of(error), error.status)
    also = " Its children are cancelled one after the other." if children else ""
    if plan:
        flash(
            request,
            "A worker is undoing its effects, most recent first. Then the thread is cancelled."
            + also,
        )
    else:
        unknown = queries.thread(thread.id, workspace=who.workspace).status_reason
        flash(request, f"Cancelled. {unknown or 'Its effects so far stay.'}{also}")
    return SeeOther(thread_url(thread.id))


def _cut_off(plan: CancelPlan) -> str:
    """The things that an end cuts off: effects that are under way, steps that nobody can read."""
    effects = interrupted(plan.thread, [f.activity for f in plan.effects])
    return f"{effects} {plan.dropped}".strip()
