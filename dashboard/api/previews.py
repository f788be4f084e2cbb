"""What the API answers before an edit, a fork or a rollback is done."""

from __future__ import annotations

from typing import Any, Self
from uuid import UUID

from pydantic import RootModel

from dashboard.cancelling import CancelPlan
from dashboard.plans import EditPlan, ForkPlan, RollBackPlan

from .shapes import Activity, Checkpoint, Shape, ThreadDetail


class EffectFate(Shape):
    """What a rollback does about an effect: undoable, stays or unknown."""

    activity: Activity
    fate: str
    text: str


class EditPreview(Shape):
    """What an edit would change and withdraw."""

    head: UUID
    version: int
    patch: list[dict[str, Any]]
    withdrawn_approvals: list[UUID]

    @classmethod
    def of(cls, plan: EditPlan) -> Self:
        """The plan for the wire."""
        return cls(
            head=plan.head,
            version=plan.version,
            patch=list(plan.patch),
            withdrawn_approvals=[a.id for a in plan.approvals],
        )


class EditAnswer(RootModel[ThreadDetail | EditPreview]):
    """The thread as it is after an edit; with `?preview=1` what the edit would do."""


class ForkPreview(Shape):
    """What a fork would call again, by what the base recorded after the checkpoint."""

    checkpoint: Checkpoint
    patch: list[dict[str, Any]]
    next_nodes: list[str]
    reused: int
    again: int
    tokens: int
    cost: str
    first_effect: str
    config: dict[str, Any]

    @classmethod
    def of(cls, plan: ForkPlan) -> Self:
        """The plan for the wire."""
        return cls(
            checkpoint=Checkpoint.model_validate(plan.target),
            patch=list(plan.patch),
            next_nodes=list(plan.next_nodes),
            reused=plan.reused,
            again=plan.again,
            tokens=plan.tokens,
            cost=plan.cost,
            first_effect=plan.first_effect,
            config=plan.config,
        )


class CancelPreview(Shape):
    """What cancelling would undo, in this order, what it leaves, and where the head goes back to.

    `checkpoint` is null where nothing is undone: the head stays.
    """

    checkpoint: Checkpoint | None
    head: UUID
    version: int
    effects: list[EffectFate]
    undo: list[UUID]
    withdrawn_approvals: list[UUID]

    @classmethod
    def of(cls, plan: CancelPlan) -> Self:
        """The plan for the wire."""
        return cls(
            checkpoint=None if plan.target is None else Checkpoint.model_validate(plan.target),
            head=plan.head,
            version=plan.version,
            effects=[EffectFate.model_validate(e) for e in plan.effects],
            undo=list(plan.undo),
            withdrawn_approvals=[a.id for a in plan.approvals],
        )


class CancelAnswer(RootModel[ThreadDetail | CancelPreview]):
    """The thread as it is afterwards; with `?preview=1` what cancelling would do."""


class RollBackPreview(Shape):
    """What a rollback would undo, leave and withdraw; effects last first."""

    checkpoint: Checkpoint
    head: UUID
    version: int
    steps: int
    effects: list[EffectFate]
    withdrawn_approvals: list[UUID]

    @classmethod
    def of(cls, plan: RollBackPlan) -> Self:
        """The plan for the wire."""
        return cls(
            checkpoint=Checkpoint.model_validate(plan.target),
            head=plan.head,
            version=plan.version,
            steps=plan.steps,
            effects=[EffectFate.model_validate(e) for e in plan.effects],
            withdrawn_approvals=[a.id for a in plan.approvals],
        )
