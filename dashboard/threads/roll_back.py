"""Roll a thread back: the head moves to an earlier checkpoint, effects since are undone."""

from __future__ import annotations

from typing import Self
from uuid import UUID

from django.db import transaction
from pydantic import Field

from approvals import gates
from checkpoints import queries, store
from checkpoints.views import EffectFate
from dashboard.errors import translated
from dashboard.fields.validation import (
    REASON_MAX,
    check_text,
)
from dashboard.identity.permissions import (
    Actor,
)
from dashboard.kit import second_person
from dashboard.kit.shapes.requests import RequestShape
from dashboard.kit.shapes.texts import Id, Reason
from dashboard.threads.plans.changes import RollBackPlan, roll_back_plan
from dashboard.threads.preview_shapes import BELOW, DROPPED, ExpectedCalls
from dashboard.threads.target import same_version, thread_for
from dashboard.threads.thread_shapes import Checkpoint
from workers.external.settled import go_back_alone


@translated()
def preview_roll_back(
    actor: Actor, thread_id: UUID, checkpoint_id: UUID, reason: str = ""
) -> RollBackPlan:
    """Plan a rollback to this checkpoint: effects undone or left, requests withdrawn."""
    thread = thread_for(actor, "roll_back", thread_id)
    check_text("$.reason", reason, REASON_MAX)
    return roll_back_plan(thread, checkpoint_id)


@second_person.guarded("roll_back")
@translated()
def roll_back(
    actor: Actor,
    thread_id: UUID,
    checkpoint_id: UUID,
    reason: str,
    expected_version: int | None = None,
    run_on: bool = False,
    compensate: bool = True,
    children: bool = False,
) -> RollBackPlan:
    """Move the head back; a worker undoes the effects of the plan, which is returned.

    With `children` those that were started after the target are cancelled, and what they did is
    undone as that of the thread is. Without `compensate` what happened outside stays as it is:
    somebody has seen to it by hand.
    """
    thread_for(actor, "roll_back", thread_id)
    check_text("$.reason", reason, REASON_MAX, required=True)
    with transaction.atomic():
        # The lock comes first: from here on no worker can finish an effect that the plan misses.
        gates.withdraw_open(
            thread_id, reason=f"The thread was rolled back: {reason}", actor=actor.id
        )
        thread = queries.thread(thread_id, workspace=actor.workspace)
        same_version(thread, expected_version)
        plan = roll_back_plan(thread, checkpoint_id, payload=False)
        store.roll_back(
            thread_id,
            checkpoint=checkpoint_id,
            undo=plan.undo if compensate else (),
            reason=reason,
            actor=actor.id,
            head=plan.head,
            expected_version=expected_version,
            run_on=run_on,
        )
        if children:
            verb = "undo" if compensate else "cancel"
            only = queries.started_after(thread_id, checkpoint_id)
            store.reach_children(thread_id, verb, actor=actor.id, only=only)
    if thread.external is not None and not (compensate and plan.undo):
        go_back_alone(thread_id, owner=actor.id)
    return plan


class RollBack(RequestShape):
    """The head moved back; `reason` is required unless it is a preview."""

    checkpoint: Id
    reason: Reason = ""
    compensate: bool = Field(True, description="Undo the effects after it; false leaves them done.")
    run_on: bool = False
    children: bool = Field(
        False, description="Cancel the threads that it started after the checkpoint."
    )


class RollBackPreview(ExpectedCalls):
    """Effects that a rollback would undo or leave, newest first, and requests withdrawn.

    The calls are those of the thread as it continues from there.
    """

    checkpoint: Checkpoint
    head: UUID
    version: int
    steps: int
    effects: list[EffectFate]
    withdrawn_approvals: list[UUID]
    children: dict[str, int] = Field(description=BELOW)
    dropped: str = Field(description=DROPPED)
    remembered: list[UUID] = Field(
        description="memories that the thread has kept since: a rollback does not reach them"
    )

    @classmethod
    def of(cls, plan: RollBackPlan) -> Self:
        """The plan for the wire."""
        return cls(
            checkpoint=Checkpoint.of(plan.target),
            head=plan.head,
            version=plan.version,
            steps=plan.steps,
            effects=list(plan.effects),
            withdrawn_approvals=[a.id for a in plan.approvals],
            children=dict(plan.children),
            dropped=plan.dropped,
            remembered=[row.id for row in plan.remembered],
            **cls.as_json(plan.expected),
        )
