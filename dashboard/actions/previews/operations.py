"""What a person's operation does to a thread, as the one who decides about it reads it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from approvals.queries import ApprovalRow
from checkpoints import queries
from checkpoints.errors import NotFound
from checkpoints.views import CheckpointRow, EffectFate, ThreadRow
from dashboard import errors

from .plans import roll_back_plan


@dataclass(frozen=True, slots=True)
class OperationPlan:
    """The checkpoint that an operation names, and what becomes of effects since it.

    `effects` is None where the operation undoes nothing, or is decided. `problem` says why it
    could not be carried out as the thread stands now.
    """

    target: CheckpointRow
    effects: tuple[EffectFate, ...] | None = None
    problem: str = ""


def operation_plan(row: ApprovalRow, thread: ThreadRow) -> OperationPlan | None:
    """The plan of an operation that names a checkpoint of the thread; None of any other."""
    args: Mapping[str, Any] = row.args if isinstance(row.args, Mapping) else {}
    named = args.get("arguments")
    payload: Mapping[str, Any] = named if isinstance(named, Mapping) else args
    if row.kind != "operation" or not payload.get("checkpoint_id"):
        return None
    try:
        target = queries.checkpoint(thread.id, UUID(str(payload["checkpoint_id"])))
    except (NotFound, ValueError):
        return None
    if not row.open or row.tool != "roll_back" or payload.get("compensate") is False:
        return OperationPlan(target)
    try:
        plan = roll_back_plan(thread, target.id, payload=False)
    except errors.ActionError as error:
        return OperationPlan(target, problem=str(error))
    return OperationPlan(target, plan.effects)
