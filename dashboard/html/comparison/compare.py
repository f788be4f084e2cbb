"""Two checkpoints side by side: what differs in their states, where their contents part."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import dropwhile
from typing import Any
from uuid import UUID

from checkpoints import queries
from checkpoints.queries.compared.steps import LoggedStep, logged_since, logged_steps
from checkpoints.states import EventKind
from checkpoints.views import CheckpointRow, EventRow

from .contents import KINDS
from .divergence import STEPS_MAX, Difference, Divergence, first_divergence

type Range = tuple[UUID, int, int, int, int]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two checkpoints with their states; `common` is the last checkpoint on both ways.

    `starts` are the values that either side begins with after it, where they are its own: its
    input, or what a fork changed. `diverged` says at which step their contents part, the events
    are those of either side: None where that side ends there or did nothing of the kind.
    """

    old: CheckpointRow
    new: CheckpointRow
    old_state: dict[str, Any]
    new_state: dict[str, Any]
    common: CheckpointRow | None
    starts: tuple[dict[str, Any], dict[str, Any]]
    diverged: Divergence
    old_event: EventRow | None
    new_event: EventRow | None

    @property
    def equal(self) -> int:
        """The number of equal steps: those of the past that both share, and equal ones after it."""
        shared = 0 if self.common is None else self.common.step + 1
        return shared + self.diverged.equal

    @property
    def patch(self) -> list[dict[str, Any]]:
        """JSON Patch from the old state to the new one; computed anew each time."""
        return queries.diff(self.old_state, self.new_state)


def compare(old: CheckpointRow, new: CheckpointRow, *, at_most: int = STEPS_MAX) -> Comparison:
    """Compare two checkpoints that the caller may read; of one thread or of two.

    Ways that share a past are compared from where they part on, independent ones step by step from
    their beginning; `at_most` steps that are the same are read.
    """
    old_way, new_way = (
        queries.branch_ranges(old.thread, old.id),
        queries.branch_ranges(new.thread, new.id),
    )
    meeting = meet(old_way, new_way)
    starts: tuple[dict[str, Any], dict[str, Any]] = ({}, {})
    diverged = first_divergence(
        _noting_start(_since(old_way, meeting, old), starts[0]),
        _noting_start(_since(new_way, meeting, new), starts[1]),
        at_most=at_most,
    )
    return Comparison(
        old=old,
        new=new,
        old_state=queries.state_at(old.thread, old.id),
        new_state=queries.state_at(new.thread, new.id),
        common=None if meeting is None else queries.checkpoint_by_number(*meeting),
        starts=starts,
        diverged=diverged,
        old_event=_event(diverged.left),
        new_event=_event(diverged.right),
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


def _since(
    path: Sequence[Range], meeting: tuple[UUID, int] | None, end: CheckpointRow
) -> Iterator[LoggedStep]:
    """The steps of a way after a meeting, oldest first; behind a head what its log has since."""
    ranges: list[tuple[UUID, int, int]] = []
    for thread, _, lo, hi, _ in path:
        if meeting is not None and meeting[0] == thread and lo <= meeting[1] <= hi:
            ranges.append((thread, meeting[1] + 1, hi))
            break
        ranges.append((thread, lo, hi))
    for thread, lo, hi in reversed(ranges):
        if lo <= hi:
            steps = logged_steps(thread, lo, hi, kinds=KINDS)
            yield from _after_meeting(steps) if meeting == (thread, lo - 1) else steps
    if (since := logged_since(end, kinds=KINDS)) is not None:
        yield from _after_meeting([since]) if meeting == (end.thread, end.number) else [since]


def _noting_start(steps: Iterable[LoggedStep], start: dict[str, Any]) -> Iterator[LoggedStep]:
    """The steps; puts the values of an input or a fork that they begin with into `start`."""
    for i, step in enumerate(steps):
        if i == 0 and step.source in ("input", "fork") and isinstance(step.delta, dict):
            for values in step.delta.values():
                start.update(values if isinstance(values, dict) else {})
        yield step


def _after_meeting(steps: Iterable[LoggedStep]) -> Iterator[LoggedStep]:
    """Steps without the way on from the meeting, which both share: its events follow the commit.

    Only the log of one side has them: a fork, or what follows a rollback, does not repeat them.
    """
    for i, step in enumerate(steps):
        if i:
            yield step
            continue
        events = tuple(dropwhile(lambda event: event.kind == EventKind.WAY_TAKEN, step.events))
        yield replace(step, events=events)


def _event(difference: Difference | None) -> EventRow | None:
    if difference is None:
        return None
    rows = queries.events_after(difference.thread, difference.seq - 1, limit=1)
    return rows[0] if rows else None
