"""Move a queued thread up: it becomes the next of its workspace on its queue."""

from __future__ import annotations

from uuid import UUID

from pydantic import Field, RootModel

from checkpoints import queries, store
from checkpoints.states import EventKind, Status
from checkpoints.views import ThreadRow
from dashboard.documents.state_shape import Shape
from dashboard.errors import Conflict, NotAllowedNow
from dashboard.identity.permissions import Actor
from dashboard.kit.action import Action, Preview
from dashboard.kit.inputs import RequiredReason
from dashboard.kit.shapes.requests import Nothing, RequestShape
from dashboard.threads.target import thread_for
from dashboard.threads.thread_shapes import ThreadDetail

from .target import THREAD, same_version


class MoveUp(RequestShape):
    """A queued thread that is to be taken before the others of its workspace."""

    reason: RequiredReason


class MoveUpPreview(Shape):
    """The threads that one passes when it is moved up, and those whose turns stay before it.

    Both counts of threads end at 1,000.
    """

    queue: str
    passes: int = Field(description="Queued threads of its workspace that are before it now.")
    turns: int = Field(description="Threads of other workspaces that may be before it now.")
    workspaces: int = Field(
        description="The workspaces they belong to: up to one thread of each stays before it."
    )


class MoveUpAnswer(RootModel[ThreadDetail | MoveUpPreview]):
    """The thread as it is afterwards; with `?preview=1` what moving it up would pass."""


def preview_move_up(
    actor: Actor, _: RequestShape, thread_id: UUID, *, expected_version: int | None
) -> MoveUpPreview:
    """Count what the thread would pass now."""
    thread = _queued(actor, thread_id)
    same_version(thread, expected_version)
    position = queries.queue_position(thread)
    if position is None:
        raise Conflict("No worker takes it now, wherever it stands; see what it waits for.")
    return MoveUpPreview(
        queue=position.queue,
        passes=position.before,
        turns=position.turns,
        workspaces=position.workspaces,
    )


def move_up(actor: Actor, wanted: MoveUp, thread_id: UUID, *, expected_version: int | None) -> None:
    """Make it the next of its workspace; other workspaces keep their turns."""
    _queued(actor, thread_id)
    store.move_up(
        thread_id,
        reason=wanted.reason.strip(),
        actor=actor.id,
        expected_version=expected_version,
    )


def _queued(actor: Actor, thread_id: UUID) -> ThreadRow:
    """The thread, unless it is in no queue of ours."""
    thread = thread_for(actor, "move_up", thread_id)
    if thread.external is not None:
        raise Conflict(
            f"{thread.agent} works elsewhere: its own program chooses which thread it takes.",
            status=str(thread.status),
        )
    if thread.status is not Status.QUEUED:
        raise NotAllowedNow(
            f"Moving up is not possible while the thread is {thread.status}.",
            status=str(thread.status),
        )
    return thread


MOVE_UP = Action(
    name="thread.move_up",
    right="move_up",
    target=THREAD,
    versioned=True,
    takes=MoveUp,
    answers=ThreadDetail,
    preview=Preview(takes=Nothing, answers=MoveUpAnswer, look=preview_move_up),
    perform=move_up,
    events=(EventKind.THREAD_MOVED_UP,),
    summary="Move a queued thread up: the next of its workspace on its queue",
    description="Other workspaces keep their turns, and nothing at work is interrupted. What was "
    "moved up last comes first. With `?preview=1` nothing moves, and 200 answers what it passes.",
    help="make a queued thread the next of its workspace",
    done=lambda *_: "Moved up: it is the next thread of this workspace in its queue.",
    examples="threads move-up order-17 --preview --reason 'the customer waits'\n"
    "threads move-up order-17 --reason 'the customer waits'",
)
