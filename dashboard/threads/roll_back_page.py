"""The form of a rollback: what it undoes, then the action."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from checkpoints import queries
from checkpoints.views import CheckpointRow, ThreadRow
from dashboard import errors
from dashboard.fields.parameters import NUMBER_OR_ID
from dashboard.fields.shapes import Ahead
from dashboard.html import lineage
from dashboard.identity.memory_viewers import seen_by
from dashboard.identity.permissions import allowed_actions, may
from dashboard.kit.inputs import declared
from dashboard.kit.pages import forms
from dashboard.kit.pages.addresses import takes
from dashboard.kit.pages.base import SeeOther, actor, flash, member, refused, thread_url, version_of
from dashboard.threads.roll_back import RollBack, preview_roll_back, roll_back
from dashboard.wording.interruptions import children_words
from dashboard.wording.memories import memory_lines

from .checkpoint_forms import ahead_of, checkpoint_of, form_page, thread_for


@form_page
@member
@takes(checkpoint=NUMBER_OR_ID)
def rollback(request: HttpRequest, thread_id: UUID) -> HttpResponse:
    """Back to a checkpoint (the one before the head when none is named), with what that undoes."""
    who, thread = actor(request), thread_for(request, "roll_back", thread_id)
    target = checkpoint_of(request, thread) or _before_head(thread)
    reason = forms.text(request, "reason")
    known = bool(request.POST.get("known"))
    run_on = bool(request.POST.get("run_on"))
    keep_effects = bool(request.POST.get("keep_effects"))
    children = bool(request.POST.get("children"))

    def form(problems: dict[str, str], status: int) -> HttpResponse:
        plan = preview_roll_back(who, thread.id, target.id)
        context = {
            "thread": plan.thread,
            "checkpoint": target,
            "behind": plan.steps,
            "dropped": plan.dropped,
            "fates": plan.effects,
            "ahead": Ahead(**ahead_of(plan.expected)),
            "withdrawn": plan.approvals,
            "declared": declared(RollBack, ["reason"], request.POST.dict(), problems),
            "run_on": run_on,
            "keep_effects": keep_effects,
            "known": known,
            "below": children_words(plan.children),
            "children": children,
            "remembered": memory_lines(seen_by(who, plan.remembered)),
            "may_forget": may(who, "memory"),
            "errors": problems,
        }
        return render(request, "threads/rollback.html", context, status=status)

    allowance = allowed_actions(who, thread)["roll_back"]
    if not allowance.allowed:
        return refused(request, errors.NotAllowedNow(allowance.why), back=thread_url(thread.id))
    if request.method != "POST":
        return form({}, 200)
    problems = {}
    if not reason:
        problems["reason"] = "Enter a reason; it is kept in the log."
    if not known and any(
        fate.fate != "undoable" for fate in preview_roll_back(who, thread.id, target.id).effects
    ):
        problems["known"] = "Confirm that you know what can’t be undone."
    if problems:
        return form(problems, 422)
    try:
        version = version_of(request)
        roll_back(
            *(who, thread.id, target.id, reason, version, run_on),
            compensate=not keep_effects,
            children=children,
        )
    except (errors.Forbidden, errors.Missing, errors.NeedsSecondPerson):
        raise
    except errors.ActionError as error:
        return form(forms.problems_of(error), error.status)
    also = " Children that it started after it are cancelled." if children else ""
    flash(request, f"Rolling back: a worker is undoing what came after.{also}")
    return SeeOther(thread_url(thread.id))


def _before_head(thread: ThreadRow) -> CheckpointRow:
    """The thread's own checkpoint that the head was made from."""
    path = lineage.head_path(queries.lineage(thread.id, limit=2_000), thread.head)
    own = [row for row in path[1:] if row.thread == thread.id]
    if not own:
        instead = "; fork the thread it came from instead" if thread.base else ""
        raise errors.NotAllowedNow(f"The thread is at its first checkpoint{instead}.")
    return own[0]
