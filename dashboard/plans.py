"""What an edit, a fork or a rollback would do, computed beforehand; reads only.

The action computes the same plan again under the thread's lock, so that nothing happens beyond
what was shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from uuid import UUID

from approvals import queries as gates
from approvals.queries import ApprovalRow
from checkpoints import queries, store
from checkpoints.errors import NotFound
from checkpoints.views import ActivityRow, CheckpointRow, EffectFate, ThreadRow

from .errors import Missing, NotAllowedNow

RECORDS_LOOKED_AT = 2_000


@dataclass(frozen=True, slots=True)
class EditPlan:
    """An edit of the head: which requests it withdraws, what changes as JSON Patch."""

    thread: ThreadRow
    head: UUID
    version: int
    patch: tuple[dict[str, Any], ...]
    approvals: tuple[ApprovalRow, ...]


@dataclass(frozen=True, slots=True)
class ForkPlan:
    """A fork and what its way costs, by what the base recorded after the checkpoint.

    `reused` and `again` count recorded activities; tokens and cost are those of `again`.
    `first_effect` is the tool before which a fork with effects="ask" stops, as far as recorded.
    `config` is the whole configuration that the fork would have.
    """

    thread: ThreadRow
    target: CheckpointRow
    patch: tuple[dict[str, Any], ...]
    next_nodes: tuple[str, ...]
    reused: int
    again: int
    tokens: int
    cost: str
    first_effect: str
    config: dict[str, Any]


@dataclass(frozen=True, slots=True)
class RollBackPlan:
    """A rollback: what happened outside since the target, and what becomes of it.

    `effects` last first; `undo` are the ids of those that will be undone, in that order. `steps`
    counts the checkpoints on the way that are left behind.
    """

    thread: ThreadRow
    target: CheckpointRow
    head: UUID
    version: int
    steps: int
    effects: tuple[EffectFate, ...]
    approvals: tuple[ApprovalRow, ...]

    @property
    def undo(self) -> tuple[UUID, ...]:
        """Effects to compensate, last first."""
        return tuple(e.activity.id for e in self.of_fate("undoable"))

    def of_fate(self, fate: str) -> tuple[EffectFate, ...]:
        """Effects with one fate: undoable, stays or unknown."""
        return tuple(e for e in self.effects if e.fate == fate)


def edit_plan(thread: ThreadRow, old: dict[str, Any], new: dict[str, Any]) -> EditPlan:
    """The plan of an edit that turns the head's state `old` into `new`."""
    return EditPlan(
        thread=thread,
        head=thread.head,
        version=thread.version,
        patch=tuple(queries.diff(old, new)),
        approvals=tuple(gates.for_thread(thread.id, open_only=True)),
    )


def fork_plan(
    thread: ThreadRow,
    target: CheckpointRow,
    old: dict[str, Any],
    new: dict[str, Any],
    *,
    config: Mapping[str, Any],
) -> ForkPlan:
    """The plan of a fork from `target`, whose state `old` becomes `new`, with other `config`."""
    later = recorded_after(target)
    spent = [a.usage for a in later if isinstance(a.usage, dict)]
    effects = [a for a in later if a.kind == "effect"]
    return ForkPlan(
        thread=thread,
        target=target,
        patch=tuple(queries.diff(old, new)),
        next_nodes=target.next_nodes,
        # Nothing recorded is reused yet: a fork's calls are its own.
        reused=0,
        again=len(later),
        tokens=sum(int(u.get("tokens") or 0) for u in spent),
        cost=f"{sum((Decimal(str(u.get('cost') or 0)) for u in spent), Decimal(0)):f}",
        first_effect=effects[0].tool if effects else "",
        config=store.joined_config(queries.config_of(thread.id), config),
    )


def recorded_after(target: CheckpointRow) -> list[ActivityRow]:
    """Calls recorded on the target's own branch after it, oldest first."""
    rows = queries.activities(target.thread, limit=RECORDS_LOOKED_AT)
    found = [
        a
        for a in rows
        if a.branch == target.branch
        and a.step > target.step
        and a.kind in ("activity", "effect", "model")
        and a.state in ("done", "compensated")
    ]
    return found[::-1]


def roll_back_plan(thread: ThreadRow, checkpoint_id: UUID) -> RollBackPlan:
    """The plan of a rollback to one of the thread's own checkpoints on the way to its head.

    Raises Missing for a checkpoint of another thread, NotAllowedNow for the head itself and for
    one that an earlier rollback left behind.
    """
    try:
        target = queries.checkpoint(thread.id, checkpoint_id)
    except NotFound as error:
        raise Missing(
            "This checkpoint is not one of this thread's own; fork the base instead."
        ) from error
    if target.id == thread.head:
        raise NotAllowedNow("The thread stands at this checkpoint already.")
    way = queries.way(thread.id, thread.head)
    if not on_way(way, target):
        raise NotAllowedNow(
            "An earlier rollback left this checkpoint behind; fork from it to go on there."
        )
    return RollBackPlan(
        thread=thread,
        target=target,
        head=thread.head,
        version=thread.version,
        steps=_passed(way, target),
        effects=tuple(queries.effects_after(thread.id, target.id)),
        approvals=tuple(gates.for_thread(thread.id, open_only=True)),
    )


def on_way(way: Sequence[tuple[UUID, int, int, int, int]], row: CheckpointRow) -> bool:
    """Whether the ranges of `queries.way` go through a checkpoint."""
    return any(owner == row.thread and lo <= row.number <= hi for owner, _, lo, hi, _ in way)


def _passed(way: Sequence[tuple[UUID, int, int, int, int]], target: CheckpointRow) -> int:
    """How many checkpoints lie on the way after the target."""
    count = 0
    for owner, _, lo, hi, _ in way:
        if owner == target.thread and lo <= target.number <= hi:
            return count + hi - target.number
        count += hi - lo + 1
    return count
