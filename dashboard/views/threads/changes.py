"""Messages and rollbacks: a preview, then the action; what forms over a state share."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_http_methods

from checkpoints import queries
from checkpoints.errors import ContentAway, NotFound
from checkpoints.views import CheckpointRow, ThreadRow
from dashboard import actions, errors
from dashboard.actions.previews.expected_calls import AGAIN, MAYBE, REUSED, Expected
from dashboard.drawing import lineage
from dashboard.fields import form as fields
from dashboard.fields import message as inbox
from dashboard.fields.parameters import NUMBER_OR_ID
from dashboard.fields.shapes import Ahead
from dashboard.identity.permissions import require
from dashboard.threads.input import INPUT, SendInput
from dashboard.views import forms
from dashboard.views.addresses import takes
from dashboard.views.base import SeeOther, actor, flash, member, refused, thread_url, version_of
from dashboard.wording.interruptions import children_words
from dashboard.wording.savings import dollars

CALLS_SHOWN = 50
form_page = require_http_methods(["GET", "POST"])


def checkpoint_of(request: HttpRequest, thread: ThreadRow) -> CheckpointRow | None:
    """The checkpoint that ?checkpoint= or the form names by id or number; None without a name."""
    raw = request.POST.get("checkpoint") or request.GET.get("checkpoint", "")
    if not raw:
        return None
    if raw.isascii() and raw.isdecimal() and len(raw) < 10:
        return queries.checkpoint_by_number(thread.id, int(raw))
    try:
        return queries.checkpoint(thread.id, UUID(raw))
    except ValueError:
        raise errors.Missing("There is no such checkpoint in this thread.") from None


def head_of(thread: ThreadRow) -> CheckpointRow:
    """The checkpoint that the thread stands at."""
    try:
        return queries.checkpoint(thread.id, thread.head)
    except NotFound:
        raise errors.NotAllowedNow(
            f"Checkpoint #{thread.number}, the head of this thread, is missing from the record."
        ) from None


def thread_for(request: HttpRequest, action: str, thread_id: UUID) -> ThreadRow:
    """The thread, for those who may do this; unknown to members of other workspaces."""
    require(actor(request), action)
    return queries.thread(thread_id, workspace=actor(request).workspace)


def values_at(thread: ThreadRow, target: CheckpointRow) -> tuple[dict[str, Any], str]:
    """(the state at a checkpoint, "") or ({}, why its contents cannot be reached)."""
    try:
        return queries.state_at(thread.id, target.id), ""
    except ContentAway as error:
        return {}, error.message


def ahead_of(expected: Expected) -> dict[str, Any]:
    """The values of `shapes.Ahead` for what is expected of the calls ahead."""
    return {
        "reused": expected.count(REUSED),
        "again": expected.count(AGAIN),
        "maybe": expected.count(MAYBE),
        "tokens": expected.tokens(AGAIN),
        "cost": dollars(expected.cost(AGAIN), expected.unpriced(AGAIN)),
        "tokens_maybe": expected.tokens(MAYBE),
        "cost_maybe": dollars(expected.cost(MAYBE), expected.unpriced(MAYBE)),
        "tokens_reused": expected.tokens(REUSED),
        "calls": expected.calls[:CALLS_SHOWN],
    }


@form_page
@member
def send_input(request: HttpRequest, thread_id: UUID) -> HttpResponse:
    """A message for the next step; one that is refused comes back with what was written."""
    who, thread = actor(request), thread_for(request, "input", thread_id)
    version = queries.agent_version(thread.agent_version_id)
    text = request.POST.get(fields.PREFIX + inbox.NAME, "")

    def form(problem: str, status: int, *, beside: bool = True) -> HttpResponse:
        field = inbox.message_field(
            version, text=text or None, error=problem if beside and problem else ""
        )
        context = {
            "thread": thread,
            "field": field,
            "fields": [field],
            "errors": {} if beside else {forms.WHOLE: problem},
        }
        return render(request, "thread/actions/input.html", context, status=status)

    allowance = actions.allowed_actions(who, thread)["input"]
    if request.method != "POST":
        if not allowance.allowed:
            refusal = errors.NotAllowedNow(allowance.why)
            return refused(request, refusal, back=thread_url(thread.id))
        return form("", 200)
    message, problem = inbox.message_of(version, text)
    if problem and allowance.allowed:
        return form(problem, 422)
    try:
        INPUT.run(who, SendInput(message=message), thread.id)
    except (errors.Forbidden, errors.Missing, errors.NeedsSecondPerson):
        raise
    except errors.Invalid as error:
        return form(errors.rooted(f"{error.path}: {error.reason}", ""), error.status)
    except errors.ActionError as error:
        return form(error.detail, error.status, beside=False)
    flash(request, "Sent. The next step will use it.")
    return SeeOther(thread_url(thread.id))


@form_page
@member
@takes(checkpoint=NUMBER_OR_ID)
def rollback(request: HttpRequest, thread_id: UUID) -> HttpResponse:
    """Back to a checkpoint (the one before the head when none is named), with what that undoes."""
    who, thread = actor(request), thread_for(request, "roll_back", thread_id)
    target = checkpoint_of(request, thread) or _before_head(thread)
    reason = request.POST.get("reason", "").strip()
    known = bool(request.POST.get("known"))
    run_on = bool(request.POST.get("run_on"))
    keep_effects = bool(request.POST.get("keep_effects"))
    children = bool(request.POST.get("children"))

    def form(problems: dict[str, str], status: int) -> HttpResponse:
        plan = actions.preview_roll_back(who, thread.id, target.id)
        context = {
            "thread": plan.thread,
            "checkpoint": target,
            "behind": plan.steps,
            "fates": plan.effects,
            "ahead": Ahead(**ahead_of(plan.expected)),
            "withdrawn": plan.approvals,
            "reason": reason,
            "run_on": run_on,
            "keep_effects": keep_effects,
            "known": known,
            "below": children_words(plan.children),
            "children": children,
            "errors": problems,
        }
        return render(request, "thread/actions/rollback.html", context, status=status)

    allowance = actions.allowed_actions(who, thread)["roll_back"]
    if not allowance.allowed:
        return refused(request, errors.NotAllowedNow(allowance.why), back=thread_url(thread.id))
    if request.method != "POST":
        return form({}, 200)
    problems = {}
    if not reason:
        problems["reason"] = "Enter a reason; it is kept in the log."
    if not known and any(
        fate.fate != "undoable"
        for fate in actions.preview_roll_back(who, thread.id, target.id).effects
    ):
        problems["known"] = "Confirm that you know what can’t be undone."
    if problems:
        return form(problems, 422)
    try:
        version = version_of(request)
        actions.roll_back(
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
