"""Plans of an edit, a fork and a rollback, computed beforehand; reads only.

The action computes the same plan again under the thread's lock, so that nothing happens beyond
what was shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from approvals import queries as gates
from approvals.queries import ApprovalRow
from checkpoints import queries, store
from checkpoints.errors import NotFound
from checkpoints.memories import MemoryRow
from checkpoints.views import ActivityRow, CheckpointRow, EffectFate, ThreadRow
from dashboard.documents.buffered import dropped_by_change
from dashboard.errors import Missing, NotAllowedNow
from dashboard.threads.plans.expected_calls import Expected, after_edit, after_fork, after_roll_back


@dataclass(frozen=True, slots=True)
class EditPlan:
    """An edit of the head: which requests it withdraws, what changes as JSON Patch.

    `before` are the values of the channels that differ; None of one that was not there.
    `expected` is what will happen to the finished calls of the step in progress.
    """

    thread: ThreadRow
    head: UUID
    version: int
    patch: tuple[dict[str, Any], ...]
    approvals: tuple[ApprovalRow, ...]
    expected: Expected
    before: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ForkPlan:
    """A fork and what its way costs, by what the base recorded after the checkpoint.

    `first_effect` is the tool before which a fork with effects="ask" stops, as far as recorded.
    `config` is the whole configuration that the fork would have, `config_patch` what differs in it.
    `remembered` is what the base has put into memory since: what it shares the fork reads as well.
    """

    thread: ThreadRow
    target: CheckpointRow
    patch: tuple[dict[str, Any], ...]
    next_nodes: tuple[str, ...]
    expected: Expected
    first_effect: str
    config: dict[str, Any]
    config_patch: tuple[dict[str, Any], ...] = ()
    remembered: tuple[MemoryRow, ...] = ()


@dataclass(frozen=True, slots=True)
class RollBackPlan:
    """A rollback: what happened outside since the target, and what is done about it.

    `effects` last first; `undo` are the ids of those that will be undone, in that order. `steps`
    counts the checkpoints that are left behind. `expected` is what will happen to their recorded
    calls when the thread continues from the target. `children` counts unfinished threads below it
    that were started since, by status: the rollback reaches them where that is wanted. `dropped`
    says which steps are lost with it, where the hot store is away. `remembered` is what it has put
    into memory since, which no rollback reaches.
    """

    thread: ThreadRow
    target: CheckpointRow
    head: UUID
    version: int
    steps: int
    effects: tuple[EffectFate, ...]
    approvals: tuple[ApprovalRow, ...]
    expected: Expected
    children: Mapping[str, int] = field(default_factory=dict)
    dropped: str = ""
    remembered: tuple[MemoryRow, ...] = ()

    @property
    def undo(self) -> tuple[UUID, ...]:
        """Effects to compensate, last first."""
        return tuple(e.activity.id for e in self.of_fate("undoable"))

    def of_fate(self, fate: str) -> tuple[EffectFate, ...]:
        """Effects with one fate: undoable, stays or unknown."""
        return tuple(e for e in self.effects if e.fate == fate)


def edit_plan(thread: ThreadRow, old: dict[str, Any], new: dict[str, Any]) -> EditPlan:
    """The plan of an edit that turns the head's state `old` into `new`."""
    patch = tuple(queries.diff(old, new))
    return EditPlan(
        thread=thread,
        head=thread.head,
        version=thread.version,
        patch=patch,
        approvals=tuple(gates.unsettled(thread.id)),
        before={k: old.get(k) for k, value in new.items() if k not in old or old[k] != value},
        expected=after_edit(thread, changed=bool(patch)),
    )


def fork_plan(
    thread: ThreadRow,
    target: CheckpointRow,
    old: dict[str, Any],
    new: dict[str, Any],
    *,
    config: Mapping[str, Any],
    exchanged: ActivityRow | None = None,
) -> ForkPlan:
    """The plan of a fork from `target`, whose state `old` becomes `new`, with other `config`.

    `exchanged` is the call that has another output in it.
    """
    now = queries.config_of(thread.id)
    then = store.joined_config(now, config)
    patch = tuple(queries.diff(old, new))
    expected = after_fork(
        thread, target, changed=bool(patch), config=now, other=then, exchanged=exchanged
    )
    effects = [call.activity.tool for call in expected.calls if call.activity.kind == "effect"]
    return ForkPlan(
        thread=thread,
        target=target,
        patch=patch,
        next_nodes=target.next_nodes,
        expected=expected,
        first_effect=effects[0] if effects else "",
        config=then,
        config_patch=tuple(queries.diff(now, then)),
        remembered=_remembered_after(target),
    )


def roll_back_plan(thread: ThreadRow, checkpoint_id: UUID, *, payload: bool = True) -> RollBackPlan:
    """The plan of a rollback to one of the thread's own checkpoints on the way to its head.

    Without `payload` what is expected of the calls ahead is left out, and the children.
    Raises Missing for a checkpoint of another thread, NotAllowedNow for the head itself and for
    one that an earlier rollback left behind.
    """
    try:
        target = queries.checkpoint(thread.id, checkpoint_id)
    except NotFound as error:
        raise Missing(
            "This checkpoint belongs to another thread; fork that one instead."
        ) from error
    if target.id == thread.head:
        raise NotAllowedNow("The thread is already at this checkpoint.")
    path = queries.branch_ranges(thread.id, thread.head)
    if not is_on_path(path, target):
        raise NotAllowedNow(
            "An earlier rollback left this checkpoint behind; fork from it to continue there."
        )
    return RollBackPlan(
        thread=thread,
        target=target,
        head=thread.head,
        version=thread.version,
        steps=_passed(path, target),
        effects=tuple(queries.effects_after(thread.id, target.id)),
        approvals=tuple(gates.unsettled(thread.id)),
        expected=after_roll_back(thread, target, path) if payload else Expected(),
        children=_started_after(thread, target) if payload else {},
        dropped=dropped_by_change(thread) if payload else "",
        remembered=_remembered_after(target) if payload else (),
    )


def _started_after(thread: ThreadRow, target: CheckpointRow) -> dict[str, int]:
    return queries.below(thread.id, only=queries.started_after(thread.id, target.id))


def _remembered_after(target: CheckpointRow) -> tuple[MemoryRow, ...]:
    rows = queries.remembered_after(target.thread, branch=target.branch, step=target.step)
    return tuple(rows)


def is_on_path(path: Sequence[tuple[UUID, int, int, int, int]], row: CheckpointRow) -> bool:
    """True if the ranges of `queries.branch_ranges` include a checkpoint."""
    return any(owner == row.thread and lo <= row.number <= hi for owner, _, lo, hi, _ in path)


def _passed(path: Sequence[tuple[UUID, int, int, int, int]], target: CheckpointRow) -> int:
    """Count the checkpoints on the path after the target."""
    count = 0
    for owner, _, lo, hi, _ in path:
        if owner == target.thread and lo <= target.number <= hi:
            return count + hi - target.number
        count += hi - lo + 1
    return count
