"""End a thread, with or without undoing what it did; part of `actions`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self
from uuid import UUID

from django.db import transaction
from pydantic import Field, RootModel

from approvals import gates
from approvals import queries as requests
from approvals.queries import ApprovalRow
from checkpoints import queries, store, undo
from checkpoints.errors import StaleVersion
from checkpoints.views import CheckpointRow, EffectFate, ThreadRow
from dashboard.documents.buffered import dropped_by_change
from dashboard.documents.state_shape import Shape
from dashboard.errors import Invalid, translated
from dashboard.fields.validation import (
    REASON_MAX,
    check_text,
)
from dashboard.identity.permissions import Actor, refuse_beyond, require
from dashboard.kit.shapes.requests import RequestShape
from dashboard.kit.shapes.texts import Reason
from dashboard.threads.preview_shapes import BELOW, DROPPED
from dashboard.threads.thread_shapes import Checkpoint, ThreadDetail


@dataclass(frozen=True, slots=True)
class CancelPlan:
    """The end of a thread: what it did outside, last first, and its outcome.

    `undo` are the ids of those that will be undone, in that order. The head then goes back to
    `target`, the checkpoint before the first of them; None where nothing is undone. `left` happened
    on branches that rollbacks have left: it stays as it is. `children` counts unfinished threads
    below it by status: the end reaches them where that is wanted. `dropped` says which steps are
    lost with it, where the hot store is away.
    """

    thread: ThreadRow
    head: UUID
    version: int
    effects: tuple[EffectFate, ...]
    undo: tuple[UUID, ...]
    target: CheckpointRow | None
    approvals: tuple[ApprovalRow, ...]
    left: tuple[EffectFate, ...] = ()
    children: Mapping[str, int] = field(default_factory=dict)
    dropped: str = ""

    @property
    def all_effects(self) -> tuple[EffectFate, ...]:
        """All that the thread did outside and that is not undone yet, last first."""
        return (*self.effects, *self.left)


def cancel_plan(
    thread: ThreadRow, *, undo_effects: bool = True, undo_unknown: bool = False
) -> CancelPlan:
    """The plan as of now."""
    fates = queries.effects_of(thread.id)
    chosen: Sequence[EffectFate] = ()
    if undo_effects:
        chosen = undo.chosen(fates, unknown=undo_unknown)
    return CancelPlan(
        thread=thread,
        head=thread.head,
        version=thread.version,
        effects=tuple(fates),
        undo=tuple(f.activity.id for f in chosen),
        target=queries.checkpoint_before(chosen[-1].activity) if chosen else None,
        approvals=tuple(requests.unsettled(thread.id)),
        left=tuple(queries.effects_left(thread.id, fates)),
        children=queries.below(thread.id),
        dropped=dropped_by_change(thread),
    )


@translated()
def preview_cancel(
    actor: Actor,
    thread_id: UUID,
    reason: str = "",
    *,
    undo_effects: bool = True,
    undo_unknown: bool = False,
) -> CancelPlan:
    """Plan a cancellation: effects it would undo or leave, requests it would withdraw."""
    thread = _cancellable(actor, thread_id, reason, undo_effects, undo_unknown)
    return cancel_plan(thread, undo_effects=undo_effects, undo_unknown=undo_unknown)


@translated()
def cancel(
    actor: Actor,
    thread_id: UUID,
    reason: str = "",
    undo_effects: bool = False,
    undo_unknown: bool = False,
    *,
    children: bool = False,
    expected_version: int | None = None,
) -> CancelPlan | None:
    """Any unfinished status -> cancelled; open requests are withdrawn with it.

    With `undo_effects` a worker first takes back, last first, what the thread did; it is cancelled
    immediately where there is nothing to take back. `undo_unknown` does the same with what may have
    happened. With `children` all that it started is ended in the same way, one generation after
    the other. Returns what will be undone; None where the thread is cancelled already.
    """
    _cancellable(actor, thread_id, reason, undo_effects, undo_unknown)
    with transaction.atomic():
        # The lock comes first: from here on no worker can finish an effect that the plan misses.
        gates.withdraw_open(thread_id, reason="The thread was cancelled.", actor=actor.id)
        if children:
            verb = "undo" if undo_effects else "cancel"
            store.reach_children(thread_id, verb, actor=actor.id)
        plan = None
        if undo_effects:
            thread = queries.thread(thread_id, workspace=actor.workspace)
            if expected_version is not None and thread.version != expected_version:
                raise StaleVersion(version=thread.version, status=str(thread.status))
            plan = cancel_plan(thread, undo_unknown=undo_unknown)
        if plan is None or plan.target is None:
            store.cancel(
                thread_id, actor=actor.id, reason=reason, expected_version=expected_version
            )
            return None
        carried = undo.plan_back_to(
            plan.target,
            plan.effects,
            left=plan.left,
            reason=reason,
            by=actor.id,
            then=undo.CANCELLED,
            unknown=undo_unknown,
        )
        store.cancel_and_undo(
            thread_id, plan=carried, head=plan.head, expected_version=expected_version
        )
    return plan


def _cancellable(
    actor: Actor, thread_id: UUID, reason: str, undo_effects: bool, undo_unknown: bool
) -> ThreadRow:
    """The thread, unless it or the words are refused."""
    require(actor, "cancel")
    thread = queries.thread(thread_id, workspace=actor.workspace)
    refuse_beyond(thread, "cancel")
    check_text("$.reason", reason, REASON_MAX)
    if undo_unknown and not undo_effects:
        raise Invalid("$.undo_unknown", "goes with undo only")
    return thread


class Cancel(RequestShape):
    """The end of a thread."""

    reason: Reason = ""
    undo: bool = Field(
        False, description="Undo its effects, most recent first, before it is cancelled."
    )
    undo_unknown: bool = Field(
        False, description="With `undo`: also what may have happened, where it has an undo."
    )
    children: bool = Field(False, description="Let it reach the threads that it started as well.")


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
    dropped: str = Field(description=DROPPED)

    @classmethod
    def of(cls, plan: CancelPlan) -> Self:
        """The plan for the wire."""
        return cls(
            checkpoint=None if plan.target is None else Checkpoint.of(plan.target),
            head=plan.head,
            version=plan.version,
            effects=list(plan.all_effects),
            undo=list(plan.undo),
            withdrawn_approvals=[a.id for a in plan.approvals],
            children=dict(plan.children),
            dropped=plan.dropped,
        )


class CancelAnswer(RootModel[ThreadDetail | CancelPreview]):
    """The thread as it is afterwards; with `?preview=1` what cancelling would do."""
