"""Take your own decision back before it takes effect."""

from __future__ import annotations

from uuid import UUID

from approvals import gates
from approvals.queries import ApprovalRow
from checkpoints.states import EventKind
from dashboard.identity.permissions import Actor
from dashboard.kit.action import Action
from dashboard.kit.shapes.requests import Nothing

from .approvals import Approval
from .decide import reviewer_of
from .target import APPROVAL


def take_back(actor: Actor, _: Nothing, approval_id: UUID) -> ApprovalRow:
    """Undo your own decision before it takes effect; the open request."""
    return gates.take_back(approval_id, workspace=actor.workspace, reviewer=reviewer_of(actor))


TAKE_BACK = Action(
    name="approval.take_back",
    right="decide",
    target=APPROVAL,
    takes=Nothing,
    answers=Approval,
    shape=Approval.from_row,
    perform=take_back,
    events=(EventKind.DECISION_TAKEN_BACK,),
    summary="Undo your own decision before it takes effect",
    description="Until `effective_at`, by who decided it; the request is open again.",
    help="takes your decision back while it does not count yet",
    done=lambda *_: "Undone. The request is open again.",
)
