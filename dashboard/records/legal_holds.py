"""Legal holds: nothing of a thread is erased from when one is set until it is lifted."""

from __future__ import annotations

from typing import Final
from uuid import UUID

from checkpoints import queries, store
from checkpoints.queries.erasures import requests
from checkpoints.queries.erasures.requests import HoldRow
from checkpoints.states import WorkspaceEventKind
from dashboard.documents.state_shape import Shape
from dashboard.errors import translated
from dashboard.identity.permissions import Actor, require
from dashboard.kit.action import Action
from dashboard.kit.inputs import RequiredReason
from dashboard.kit.resource import reading
from dashboard.kit.shapes.requests import RequestShape

from .erase import THREAD_OF_RECORD


class HoldList(Shape):
    """Holds that are set, then the newest of the others; at most 200."""

    results: list[HoldRow]


class ChangeHold(RequestShape):
    """The reason for which a hold is set or lifted."""

    reason: RequiredReason


@translated()
def holds(actor: Actor) -> list[HoldRow]:
    """Legal holds of the workspace: those that are set first, then the newest."""
    require(actor, "read")
    return requests.holds(actor.workspace)


def set_hold(actor: Actor, wanted: ChangeHold, thread_id: UUID) -> HoldRow:
    """Set a legal hold on a thread: nothing of it is erased until it is lifted."""
    reason = wanted.reason.strip()
    return store.set_hold(thread_id, workspace=actor.workspace, reason=reason, actor=actor.id)


def lift_hold(actor: Actor, wanted: ChangeHold, thread_id: UUID) -> HoldRow:
    """Lift the legal hold of a thread."""
    queries.thread(thread_id, workspace=actor.workspace)
    reason = wanted.reason.strip()
    return store.lift_hold(thread_id, workspace=actor.workspace, reason=reason, actor=actor.id)


def list_holds(actor: Actor) -> HoldList:
    """The same as `holds` for the wire."""
    return HoldList(results=holds(actor))


HOLDS: Final = reading(
    "holds_list",
    HoldList,
    list_holds,
    summary="List legal holds",
    description="Those that are set first.",
)
HOLD = Action(
    name="thread.hold",
    right="hold",
    target=THREAD_OF_RECORD,
    takes=ChangeHold,
    answers=HoldRow,
    status=201,
    perform=set_hold,
    events=(WorkspaceEventKind.HOLD_SET,),
    summary="Set a legal hold: nothing of the thread is erased until it is lifted",
    description="201 with the hold.",
    help="sets a legal hold",
    done=lambda *_: "A legal hold is set: nothing of this thread is erased.",
    examples='erase hold 01a2f0c3 --reason "case 17"',
)
LIFT_HOLD = Action(
    name="thread.lift_hold",
    right="hold",
    target=THREAD_OF_RECORD,
    takes=ChangeHold,
    answers=HoldRow,
    perform=lift_hold,
    events=(WorkspaceEventKind.HOLD_LIFTED,),
    summary="Lift the legal hold of a thread",
    description="200 with the hold as it was.",
    help="lifts a legal hold",
    done=lambda *_: "The legal hold is lifted.",
)
