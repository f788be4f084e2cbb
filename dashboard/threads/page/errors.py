"""Errors of a thread: each failed call, step or attempt with its place and what is next.

Pure, from the events of the kinds that say so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from checkpoints.states import EventKind, Status
from checkpoints.views import CheckpointRow, EventRow, ThreadRow
from dashboard.wording.events import display_of
from dashboard.wording.text import number, span

WORD: Final = "errors"  # the value of ?kind=
KINDS: Final = tuple(kind for kind in map(str, EventKind) if display_of(kind).is_error)
# What to do about the newest one, by where the thread stands: words, and the place on its page.
_NOW: Final[Mapping[Status, tuple[str, str]]] = {
    Status.FAILED: ("Retry, edit the state, or roll back.", "#thread-head"),
    Status.ATTENTION: ("It needs attention: see above.", "#thread-note"),
    Status.CANCELLED: ("The thread was cancelled.", ""),
    Status.PAUSED: ("Resume to try it again.", "#thread-head"),
    Status.SLEEPING: ("It is retried automatically.", "#thread-note"),
    Status.WAITING: ("The thread waits.", "#thread-note"),
    Status.ROLLING_BACK: ("Its effects are being undone.", ""),
}
_WORKING: Final = ("It is being retried.", "")


@dataclass(frozen=True, slots=True)
class Trouble:
    """One error: its position, and its outcome or what to do; `href` leads to it."""

    position: str
    after: str
    href: str = ""


def count(kinds: Mapping[str, int]) -> int:
    """Count the errors among events that are counted by kind."""
    return sum(kinds.get(kind, 0) for kind in KINDS)


def by_noun(kinds: Mapping[str, int]) -> dict[str, int]:
    """Sum counts by kind to counts by noun."""
    results: dict[str, int] = {}
    for kind, n in kinds.items():
        noun = kind.partition(".")[0]
        results[noun] = results.get(noun, 0) + n
    return results


def troubles(
    events: Iterable[EventRow], *, thread: ThreadRow, rows: Sequence[CheckpointRow]
) -> dict[int, Trouble]:
    """{number of the event: its trouble}; `events` and checkpoints `rows` are newest first."""
    steps = [row for row in rows if not row.abandoned and row.thread == thread.id]
    results, newer = {}, dict[tuple[str, str], int]()
    for event in events:  # newest first
        if event.kind not in KINDS:
            continue
        position = _position(event)
        after, href = _after(event, thread, steps)
        again = newer.get((event.kind, position.partition(", attempt")[0]))
        if again and not href.startswith("?cp="):
            after, href = f"Retried, event {number(again)}.", f"#event-{again}"
        newer[event.kind, position.partition(", attempt")[0]] = event.seq
        results[event.seq] = Trouble(position, after, href)
    return results


def _position(event: EventRow) -> str:
    """“publish, step 3, attempt 2”; what is not recorded is left out."""
    data = event.data if isinstance(event.data, Mapping) else {}
    parts = [str(data["node"])] if data.get("node") else []
    for name in ("step", "attempt"):
        if isinstance(value := data.get(name), int):
            parts.append(f"{name} {number(value)}")
    return ", ".join(parts) or "Between nodes"


def _after(event: EventRow, thread: ThreadRow, steps: Sequence[CheckpointRow]) -> tuple[str, str]:
    """Name what followed: the next checkpoint or a retry; else what a person is to do."""
    data = event.data if isinstance(event.data, Mapping) else {}
    later = [row for row in steps if row.created_at > event.at]
    if later:
        return f"It continued: checkpoint #{number(later[-1].number)}.", f"?cp={later[-1].number}"
    if thread.status is Status.SUCCEEDED:
        return "The thread finished.", ""
    seconds = data.get("retry_in", data.get("again_in"))
    if isinstance(seconds, int | float) and thread.status not in (Status.FAILED, Status.CANCELLED):
        return f"Retried automatically after {span(seconds)}.", ""
    return _NOW.get(thread.status, _WORKING)
