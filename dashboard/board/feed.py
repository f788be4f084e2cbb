"""Live activity on the board: a row for each family of threads, with its newest events."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final
from uuid import UUID

from checkpoints.views import EventRow
from dashboard.wording.events import DECISION, FAILURE, TECHNICAL, display_of

THREADS: Final = 12
LINES: Final = 2  # the newest, beside the newest decision and failure


@dataclass(frozen=True, slots=True)
class Moved:
    """A thread of the feed: events to show, newest first, how many more there are, their kinds.

    `alike` more threads of the same family moved as well, such as children of one parent.
    """

    thread: UUID
    lines: Sequence[EventRow]
    more: int
    kinds: str
    alike: int = 0

    @property
    def at(self) -> datetime:
        """Time of its newest event."""
        return self.lines[0].at


def kind_of(event: EventRow) -> str:
    """Mark decisions and failures, which people look for; empty for other events."""
    return display_of(event.kind).feed


def moved(events: Iterable[EventRow]) -> list[Moved]:
    """The threads of these events, which come newest first."""
    by_thread: dict[UUID, list[EventRow]] = {}
    for event in events:
        if kind_of(event) != TECHNICAL:
            by_thread.setdefault(event.thread, []).append(event)
    return [_moved(thread, rows) for thread, rows in by_thread.items()]


def merged(rows: Iterable[Moved], roots: Mapping[UUID, UUID]) -> list[Moved]:
    """The newest rows; threads of one family are one, with what happened to the newest.

    `roots` names the first thread of each family.
    """
    results: dict[UUID, Moved] = {}
    for row in rows:
        root = roots.get(row.thread, row.thread)
        known = results.get(root)
        if known is None:
            results[root] = replace(row, thread=root)
        else:
            kinds = " ".join(sorted({*known.kinds.split(), *row.kinds.split()}))
            results[root] = replace(known, alike=known.alike + 1, kinds=kinds)
    return list(results.values())[:THREADS]


def _moved(thread: UUID, rows: Sequence[EventRow]) -> Moved:
    kinds = [kind_of(row) for row in rows]
    newest = {kinds.index(kind) for kind in (DECISION, FAILURE) if kind in kinds}
    chosen = sorted(newest | set(range(min(LINES, len(rows)))))
    lines = [rows[index] for index in chosen]
    return Moved(thread, lines, len(rows) - len(lines), " ".join(sorted({*kinds} - {""})))
