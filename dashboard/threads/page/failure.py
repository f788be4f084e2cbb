"""Details of the step at which a thread failed; pure, from its events and save points."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from checkpoints.states import EventKind
from checkpoints.views import ActivityRow, EventRow, ReasonRow, ThreadRow

KINDS = (EventKind.STEP_FAILED, EventKind.THREAD_FAILED)


@dataclass(frozen=True, slots=True)
class Failure:
    """The node and step, how often it was tried, the whole error, and what the step had done.

    `node` is empty where the thread failed between nodes; `done` are the save points of the step
    that stay valid, `tried` those that failed; `seq` finds the event.
    """

    node: str
    step: int
    attempt: int
    error: str
    at: datetime
    seq: int
    done: tuple[ActivityRow, ...]
    tried: tuple[ActivityRow, ...]

    def is_in(self, note: ReasonRow | None) -> bool:
        """Say whether a note has the whole error, whatever its blanks."""
        return note is not None and _words(self.error) in _words(note.sentence)


def _words(text: str) -> str:
    return " ".join(text.split()).rstrip(".")


def failure_of(
    thread: ThreadRow, events: Sequence[EventRow], activities: Iterable[ActivityRow]
) -> Failure | None:
    """Describe the failure of a failed thread; `events` are those of KINDS, newest first.

    None where the log does not have it among them.
    """
    if not events:
        return None
    steps = [event for event in events if event.kind == EventKind.STEP_FAILED]
    newest = steps[0] if steps and _same_step(steps[0], thread) else events[0]
    node = str(newest.data.get("node") or "")
    again = [
        event
        for event in steps
        if _same_step(event, thread) and str(event.data.get("node") or "") == node
    ]
    step = [row for row in activities if (row.branch, row.step) == (thread.branch, thread.step + 1)]
    return Failure(
        node=node,
        step=thread.step + 1,
        attempt=max(len(again), 1),
        error=str(newest.data.get("error") or newest.data.get("reason") or thread.status_reason),
        at=newest.at,
        seq=newest.seq,
        done=tuple(row for row in step if row.state == "done"),
        tried=tuple(row for row in step if row.state in ("failed", "unknown", "started")),
    )


def _same_step(event: EventRow, thread: ThreadRow) -> bool:
    return bool(event.data.get("step", thread.step + 1) == thread.step + 1)
