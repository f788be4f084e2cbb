"""Time that a step was queued, worked and waited, from its thread's events; pure.

Between two checkpoints a thread changes its status: queued until a worker takes the lease, working
until the step is committed, waiting for people, timers or a retry. Each span is split by the
statuses that it lay in. A fork or a rollback has no span: what lies between it and its parent was
other work.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import TYPE_CHECKING
from uuid import UUID

from checkpoints.states import TRANSITIONS, EventKind, Status
from dashboard.wording.text import span

if TYPE_CHECKING:
    from checkpoints.views import CheckpointRow

type Change = tuple[str, datetime]

QUEUED, WORKING, WAITING = "queued", "working", "waiting"
TONES: Mapping[Status, str] = {
    Status.QUEUED: QUEUED,
    Status.RUNNING: WORKING,
    Status.ROLLING_BACK: WORKING,
    Status.WAITING: WAITING,
    Status.SLEEPING: WAITING,
    Status.PAUSED: WAITING,
    Status.ATTENTION: WAITING,
    Status.FAILED: WAITING,
}
FELT = 1.0  # seconds; a shorter queue or wait is not named
NO_SPAN = frozenset({"fork", "rollback", "import"})


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds between a checkpoint's parent and itself, by what the thread did meanwhile."""

    queued: float = 0.0
    working: float = 0.0
    waiting: float = 0.0


@dataclass(frozen=True, slots=True)
class Timeline:
    """The statuses of one thread, oldest first; before `starts[0]` nothing is known."""

    starts: tuple[datetime, ...] = ()
    tones: tuple[str, ...] = ()

    def between(self, begin: datetime, end: datetime) -> Times | None:
        """The span split by tone; None where the log that was read does not reach back so far."""
        if not self.starts or begin < self.starts[0]:
            return None
        sums = {QUEUED: 0.0, WORKING: 0.0, WAITING: 0.0}
        first = bisect_right(self.starts, begin) - 1
        bounds = [begin, *(at for at in self.starts[first + 1 :] if at < end), max(begin, end)]
        for offset, (one, other) in enumerate(pairwise(bounds)):
            tone = self.tones[first + offset]
            if tone in sums:
                sums[tone] += (other - one).total_seconds()
        return Times(**sums)


def timeline(changes: Iterable[Change]) -> Timeline:
    """Follow (kind, time) of the events that change a status, oldest first."""
    status: Status | None = None
    starts, tones = [], []
    for kind, at in changes:
        moved = _after(EventKind(kind), status)
        if moved is not None:
            status = moved
            starts.append(at)
            tones.append(TONES.get(moved, ""))
    return Timeline(tuple(starts), tuple(tones))


def _after(kind: EventKind, current: Status | None) -> Status | None:
    """The status after an event; what it usually leads to where the log begins in the middle."""
    if kind in TRANSITIONS[current]:
        return TRANSITIONS[current][kind]
    return next((moves[kind] for moves in TRANSITIONS.values() if kind in moves), None)


STATUS_KINDS = tuple(sorted({str(kind) for moves in TRANSITIONS.values() for kind in moves}))


def times_of(
    rows: Sequence[CheckpointRow], changes: Mapping[UUID, Sequence[Change]]
) -> dict[UUID, Times]:
    """{checkpoint: its times} for those whose span is known; `changes` by thread."""
    lines = {thread: timeline(list_) for thread, list_ in changes.items()}
    created = {row.id: row.created_at for row in rows}
    results = {}
    for row in rows:
        begin = created.get(row.parent) if row.parent else None
        if begin is None or row.source in NO_SPAN:
            continue
        times = lines.get(row.thread, Timeline()).between(begin, row.created_at)
        if times is not None:
            results[row.id] = times
    return results


def words(times: Times) -> str:
    """Describe a step's duration: work first, then a queue or a wait that is long enough."""
    parts = [span(times.working)]
    if times.queued >= FELT:
        parts.append(f"{span(times.queued)} queued")
    if times.waiting >= FELT:
        parts.append(f"{span(times.waiting)} waiting")
    return " + ".join(parts)
