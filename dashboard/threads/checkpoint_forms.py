"""Checkpoints, values and expected calls that the forms over a state share."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import HttpRequest
from django.views.decorators.http import require_http_methods

from checkpoints import queries
from checkpoints.errors import ContentAway, NotFound
from checkpoints.views import CheckpointRow, ThreadRow
from dashboard import errors
from dashboard.identity.permissions import require
from dashboard.kit.pages.base import actor
from dashboard.threads.plans.expected_calls import AGAIN, MAYBE, REUSED, Expected
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
