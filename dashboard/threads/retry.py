"""Try a failed step again, or continue after somebody looked at a problem."""

from __future__ import annotations

from uuid import UUID

from checkpoints import store
from checkpoints.states import EventKind, Status
from dashboard.identity.permissions import Actor
from dashboard.kit.action import Action
from dashboard.kit.shapes.requests import Nothing
from dashboard.threads.target import thread_for
from dashboard.threads.thread_shapes import ThreadDetail

from .target import THREAD


def retry(actor: Actor, _: Nothing, thread_id: UUID, *, expected_version: int | None) -> Status:
    """failed or attention -> queued, from the head; a rollback that stopped half-way continues."""
    thread_for(actor, "retry", thread_id)
    return store.retry(thread_id, actor=actor.id, expected_version=expected_version)


def _retried(_: Nothing, status: Status) -> str:
    if status == Status.ROLLING_BACK:
        return "The rollback continues where it stopped."
    return "Retrying from the newest checkpoint."


RETRY = Action(
    name="thread.retry",
    right="retry",
    target=THREAD,
    versioned=True,
    operation="retry",
    takes=Nothing,
    answers=ThreadDetail,
    perform=retry,
    events=(EventKind.THREAD_RETRIED, EventKind.ROLLBACK_RETRIED),
    summary="Try the step again from the head",
    description="failed or attention -> queued.",
    help="try a failed step again, or continue after looking at a problem",
    done=_retried,
)
