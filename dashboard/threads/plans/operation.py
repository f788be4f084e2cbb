"""Preview of an operation that waits for a second person: its checkpoint, what it would undo."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from uuid import UUID

from approvals.queries import ApprovalRow
from checkpoints import queries
from checkpoints.errors import NotFound
from checkpoints.views import CheckpointRow, EffectFate, ThreadRow
from dashboard import errors
from dashboard.threads.plans.changes import roll_back_plan
from dashboard.wording.operations import arguments_of

MOVED: Final = "The thread has changed since this was requested. Reject it, and request it again."


@dataclass(frozen=True, slots=True)
class OperationPlan:
    """The checkpoint that an operation names, and the outcome of effects since it.

    `effects` is None where the operation undoes nothing, or is decided. `problem` says why it
    could not be carried out as the thread stands now.
    """

    target: CheckpointRow
    effects: tuple[EffectFate, ...] | None = None
    problem: str = ""


def operation_plan(row: ApprovalRow, thread: ThreadRow) -> OperationPlan | None:
    """The plan of an operation that names a checkpoint of the thread; None of any other."""
    payload = arguments_of(row)
    if row.kind != "operation" or not payload.get("checkpoint_id"):
        return None
    try:
        target = queries.checkpoint(thread.id, UUID(str(payload["checkpoint_id"])))
    except (NotFound, ValueError):
        return None
    if row.open and payload.get("expected_version") not in (None, thread.version):
        return OperationPlan(target, problem=MOVED)
    if not row.open or row.tool != "roll_back" or payload.get("compensate") is False:
        return OperationPlan(target)
    try:
        plan = roll_back_plan(thread, target.id, payload=False)
    except errors.ActionError as error:
        return OperationPlan(target, problem=str(error))
    return OperationPlan(target, plan.effects)
