"""Two checkpoints side by side: what differs in their states, where their ways part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from checkpoints import queries
from checkpoints.views import CheckpointRow, EventRow

type Range = tuple[UUID, int, int, int, int]


@dataclass(frozen=True, slots=True)
class Comparison:
    """JSON Patch from `old` to `new`; `common` is the last checkpoint on both ways.

    The first event of each side after `common` is None where that side ends there.
    """

    old: CheckpointRow
    new: CheckpointRow
    patch: tuple[dict[str, Any], ...]
    common: CheckpointRow | None
    old_event: EventRow | None
    new_event: EventRow | None


def compare(old: CheckpointRow, new: CheckpointRow) -> Comparison:
    """Compare two checkpoints that the caller may read; of one thread or of two."""
    old_way, new_way = queries.way(old.thread, old.id), queries.way(new.thread, new.id)
    meeting = meet(old_way, new_way)
    patch = queries.diff(queries.state_at(old.thread, old.id), queries.state_at(new.thread, new.id))
    return Comparison(
        old=old,
        new=new,
        patch=tuple(patch),
        common=None if meeting is None else queries.checkpoint_by_number(*meeting),
        old_event=_first_after(old_way, meeting),
        new_event=_first_after(new_way, meeting),
    )


def meet(one: Sequence[Range], other: Sequence[Range]) -> tuple[UUID, int] | None:
    """The newest (thread, number) that both ways go through; ranges newest first, as of `way`."""
    for thread, _, lo, hi, _ in one:
        shared = [
            min(hi, other_hi)
            for other_thread, _, other_lo, other_hi, _ in other
            if other_thread == thread and max(lo, other_lo) <= min(hi, other_hi)
        ]
        if shared:
            return thread, max(shared)
    return None


def _first_after(way: Sequence[Range], meeting: tuple[UUID, int] | None) -> EventRow | None:
    following: tuple[UUID, int] | None = None
    for thread, _, lo, hi, _ in way:
        if meeting is not None and meeting[0] == thread and lo <= meeting[1] <= hi:
            if meeting[1] < hi:
                following = thread, meeting[1] + 1
            break
        following = thread, lo
    if following is None:
        return None
    row = queries.checkpoint_by_number(*following)
    return queries.event_of_checkpoint(row.thread, row.id)
