"""Answers that preview an edit, a fork, a rollback or a cancellation."""

from __future__ import annotations

from typing import Any, Literal, Self
from uuid import UUID

from pydantic import Field, RootModel

from dashboard.actions.cancellation import CancelPlan
from dashboard.actions.previews.expected_calls import AGAIN, MAYBE, REUSED, Expected
from dashboard.actions.previews.plans import EditPlan, ForkPlan, RollBackPlan
from dashboard.documents.state_shape import Shape

from .rows import Activity, Checkpoint, ThreadDetail

CALLS_TOLD = 200


class EffectFate(Shape):
    """The fate of an effect in a rollback: undoable, stays or unknown."""

    activity: Activity
    fate: str
    text: str


class SecondPersonAsked(Shape):
    """Nothing is done yet: somebody else is asked first, in the request `approval`."""

    detail: str
    approval: UUID
    url: str


class SecondAdminAsked(Shape):
    """Nothing changes yet: another admin confirms the change of access `change` first."""

    detail: str
    change: UUID
    url: str


class ExpectedCall(Shape):
    """The expected fate of one recorded call; `tokens` and `cost` are those it took."""

    activity: UUID
    step: int
    node: str
    tool: str
    kind: str
    fate: Literal["reused", "again", "maybe"]
    why: str
    tokens: int
    cost: str


class ExpectedCalls(Shape):
    """The expected fates of the calls ahead, from the recording of these steps.

    `reused` calls are not made again, those of `again` are. Those of `maybe` are unknown until
    run: other input leads to another call, or to none. Tokens and cost are of `again`, those of
    `maybe` are the most that they took. Calls whose model has no known price are counted as
    unpriced, and no cost includes them. `calls` are the first 200.
    """

    reused: int
    again: int
    maybe: int
    tokens: int
    cost: str
    tokens_maybe: int
    cost_maybe: str
    tokens_reused: int
    cost_reused: str
    unpriced: int
    unpriced_maybe: int
    unpriced_reused: int
    calls: list[ExpectedCall]

    @classmethod
    def as_json(cls, expected: Expected) -> dict[str, Any]:
        """The fields, for the wire."""
        return {
            "reused": expected.count(REUSED),
            "again": expected.count(AGAIN),
            "maybe": expected.count(MAYBE),
            "tokens": expected.tokens(AGAIN),
            "cost": expected.cost(AGAIN),
            "tokens_maybe": expected.tokens(MAYBE),
            "cost_maybe": expected.cost(MAYBE),
            "tokens_reused": expected.tokens(REUSED),
            "cost_reused": expected.cost(REUSED),
            "unpriced": expected.unpriced(AGAIN),
            "unpriced_maybe": expected.unpriced(MAYBE),
            "unpriced_reused": expected.unpriced(REUSED),
            "calls": [
                {
                    "activity": call.activity.id,
                    "step": call.activity.step,
                    "node": call.activity.node,
                    "tool": call.activity.tool,
                    "kind": call.activity.kind,
                    "fate": call.fate,
                    "why": call.why,
                    "tokens": call.tokens,
                    "cost": f"{call.cost:f}",
                }
                for call in expected.calls[:CALLS_TOLD]
            ],
        }


class EditPreview(ExpectedCalls):
    """Values that an edit would change, and requests that it would withdraw.

    The calls are the finished ones of the step in progress.
    """

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
            **cls.as_json(plan.expected),
        )


class EditAnswer(RootModel[ThreadDetail | EditPreview]):
    """The thread as it is after an edit; with `?preview=1` what the edit would do."""


class ForkPreview(ExpectedCalls):
    """The plan of a fork: its changes, and the calls it would make again."""

    checkpoint: Checkpoint
    patch: list[dict[str, Any]]
    next_nodes: list[str]
    first_effect: str
    config: dict[str, Any]

    @classmethod
    def of(cls, plan: ForkPlan) -> Self:
        """The plan for the wire."""
        return cls(
            checkpoint=Checkpoint.model_validate(plan.target),
            patch=list(plan.patch),
            next_nodes=list(plan.next_nodes),
            first_effect=plan.first_effect,
            config=plan.config,
            **cls.as_json(plan.expected),
        )


BELOW = (
    "Unfinished threads that it started, and those below them, by status (`held`: those that "
    "begin when others end); with `children` it "
    "reaches them as well."
)


class CancelPreview(Shape):
    """Effects that cancelling would undo, in this order, or leave, and the new head.

    `checkpoint` is null if nothing is undone: the head stays. Effects on branches that rollbacks
    left are included: they stay.
    """

    checkpoint: Checkpoint | None
    head: UUID
    version: int
    effects: list[EffectFate]
    undo: list[UUID]
    withdrawn_approvals: list[UUID]
    children: dict[str, int] = Field(description=BELOW)

    @classmethod
    def of(cls, plan: CancelPlan) -> Self:
        """The plan for the wire."""
        return cls(
            checkpoint=None if plan.target is None else Checkpoint.model_validate(plan.target),
            head=plan.head,
            version=plan.version,
            effects=[EffectFate.model_validate(e) for e in plan.all_effects],
            undo=list(plan.undo),
            withdrawn_approvals=[a.id for a in plan.approvals],
            children=dict(plan.children),
        )


class CancelAnswer(RootModel[ThreadDetail | CancelPreview]):
    """The thread as it is afterwards; with `?preview=1` what cancelling would do."""


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
            children=dict(plan.children),
            **cls.as_json(plan.expected),
        )
