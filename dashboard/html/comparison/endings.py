"""The endings of two threads: whether they flip, and in what.

An ending is the status, the nodes of the last step that wrote something, and what it wrote; ids,
times and hashes are no content, as in `contents`. What differs on the way there is no part of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from checkpoints import queries
from checkpoints.queries.compared.steps import LoggedStep, logged_steps
from checkpoints.states import FINISHED, Status
from checkpoints.views import CheckpointRow, EventRow, ThreadRow
from dashboard.wording.sentences import as_text, look
from dashboard.wording.text import cut

from .contents import without_names

LOOKED_BACK: Final = 50  # checkpoints in which the last step that wrote something is looked for
PAIRS: Final = 5
CHARS: Final = 120


@dataclass(frozen=True, slots=True)
class EndingPart:
    """One part in which two endings differ, as text of at most 120 characters."""

    name: str
    left: str
    right: str


@dataclass(frozen=True, slots=True)
class Ending:
    """Verdict on two endings: the status, the last step that wrote something, what it wrote.

    While one of them has not ended the verdict is `running` and `pairs` has their statuses.
    `unused`: the exchanged call of a counterfactual was made again, with other arguments.
    """

    verdict: Literal["same", "differs", "running"]
    pairs: tuple[EndingPart, ...] = ()
    # The call for whose output one thread has another one: node, tool, step.
    exchanged: Annotated[Mapping[str, Any] | None, Field(exclude=True)] = None
    unused: bool = False

    @property
    def words(self) -> str:
        """The verdict as a headline: "Ends differently: Finished → Failed"."""
        if self.verdict == "running":
            return "Still running"
        if self.verdict == "same":
            return "Ends the same"
        first = self.pairs[0]
        return f"Ends differently: {first.left or 'nothing'} → {first.right or 'nothing'}"


def ending_of(
    left: ThreadRow, old: CheckpointRow, right: ThreadRow, new: CheckpointRow
) -> Ending | None:
    """Compare how two threads end; None unless both checkpoints are the heads of two threads."""
    if left.id == right.id or (left.head, right.head) != (old.id, new.id):
        return None
    exchanged = _exchanged(left, right)
    unused = exchanged is not None and _was_called(right if right.base else left, exchanged)
    return Ending(*_verdict(left, old, right, new), exchanged, unused)


def _verdict(
    left: ThreadRow, old: CheckpointRow, right: ThreadRow, new: CheckpointRow
) -> tuple[Literal["same", "differs", "running"], tuple[EndingPart, ...]]:
    statuses = EndingPart("status", *(look(row.status).word for row in (left, right)))
    why = EndingPart("reason", *(_text(row.status_reason) for row in (left, right)))
    if not {left.status, right.status} <= FINISHED:
        return "running", (statuses,)
    if left.status != right.status:
        return "differs", (statuses, why) if why.left or why.right else (statuses,)
    if left.status is not Status.SUCCEEDED:
        return ("same", ()) if why.left == why.right else ("differs", (why,))
    pairs = tuple(_differing(_last_written(old), _last_written(new)))
    return ("differs", pairs[:PAIRS]) if pairs else ("same", ())


def _differing(one: LoggedStep | None, other: LoggedStep | None) -> Iterator[EndingPart]:
    """The parts of what was written last that differ, nodes after values."""
    mine, theirs = _written(one), _written(other)
    for name in sorted(mine.keys() | theirs.keys()):
        if mine.get(name) != theirs.get(name):
            yield EndingPart(name, _text(mine.get(name)), _text(theirs.get(name)))
    nodes = [", ".join(sorted(step.nodes)) if step else "" for step in (one, other)]
    if nodes[0] != nodes[1]:
        yield EndingPart("last node", *nodes)


def _written(step: LoggedStep | None) -> dict[str, Any]:
    """{channel: value} of a step's delta without what names or dates it."""
    delta = step.delta if step is not None else {}
    return {
        channel: value
        for body in (delta.values() if isinstance(delta, dict) else ())
        if isinstance(body, dict)
        for channel, value in without_names(body).items()
    }


def _last_written(head: CheckpointRow) -> LoggedStep | None:
    """The newest step on the way to a head that wrote something; None in the newest fifty."""
    for thread, _, low, high, _ in queries.branch_ranges(head.thread, head.id):
        first = max(low, high - LOOKED_BACK + 1)
        steps = list(logged_steps(thread, first, high, kinds=()))
        for step in reversed(steps):
            if step.delta and step.source == "step":
                return step
        if first > low:
            return None
    return None


def _exchanged(left: ThreadRow, right: ThreadRow) -> Mapping[str, Any] | None:
    """The exchanged call of the side that is a counterfactual of the other."""
    for fork, base in ((right, left), (left, right)):
        if fork.base == base.id:
            events: list[EventRow] = queries.events_after(fork.id, 0, limit=1)
            call = events[0].data.get("exchanged") if events and events[0].data else None
            return call if isinstance(call, Mapping) else None
    return None


def _was_called(fork: ThreadRow, exchanged: Mapping[str, Any]) -> bool:
    """Return whether the exchanged call was made again: its arguments were other ones there."""
    step = exchanged.get("step")
    if not isinstance(step, int) or fork.step < step:
        return False
    rows = queries.step_activities(fork.id, branch=0, step=step)
    stand_in = [a for a in rows if (a.usage or {}).get("instead_of") == exchanged["activity"]]
    places = {(a.node, a.index, a.key) for a in stand_in}
    return any(a.revision for a in rows if (a.node, a.index, a.key) in places)


def _text(value: Any) -> str:
    if value is None:
        return ""
    return cut(as_text(value), at_most=CHARS)
