"""What a thread did step by step: each checkpoint of a range with the events that led to it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final
from uuid import UUID

from checkpoints.postgres.named_rows import fetch_named
from checkpoints.postgres.sql_files import sql_file

from ...views import CheckpointRow
from ..rows import decoded, names, rows

LARGE: Final = 65_536  # bytes; larger contents are compared by their digest
AT_ONCE: Final = 250  # checkpoints read by one statement
SQL = sql_file(__file__, large=str(LARGE))


@dataclass(frozen=True, slots=True)
class LoggedEvent:
    """An event with what the activity that it names was called with and answered, if any.

    `activity` is the activity's kind and `fan_out` its index, None where it names none.
    """

    seq: int
    kind: str
    data: dict[str, Any]
    activity: str | None = None
    fan_out: int | None = None
    state: str | None = None
    error: str | None = None
    args: Any = None
    result: Any = None


@dataclass(frozen=True, slots=True)
class LoggedStep:
    """A checkpoint with the events since the one before it in the log, oldest first.

    `seq` is that of its commit. `source` is empty where no checkpoint was committed yet: what
    stands in the log after the head.
    """

    thread: UUID
    number: int
    step: int
    branch: int
    source: str
    nodes: tuple[str, ...]
    next_nodes: tuple[str, ...]
    delta: Any
    seq: int
    events: tuple[LoggedEvent, ...]


def logged_steps(
    thread: UUID, first: int, last: int, *, kinds: Sequence[str]
) -> Iterator[LoggedStep]:
    """Read the checkpoints `first` to `last` of a thread's own with their events of some kinds.

    AT_ONCE checkpoints a time, so that who stops early reads little.
    """
    after = 0
    for low in range(first, last + 1, AT_ONCE):
        high = min(low + AT_ONCE - 1, last)
        commits: dict[int, int] = dict(rows(SQL.commits, (thread, after, low - 1, high)))
        if not commits:
            return
        begin = commits.get(low - 1, after)
        after = max(commits.values())
        yield from _stretch(thread, low, high, begin, commits, kinds)


def _stretch(
    thread: UUID, low: int, high: int, begin: int, commits: dict[int, int], kinds: Sequence[str]
) -> Iterator[LoggedStep]:
    events = _events(thread, begin, max(commits.values()), kinds)
    points = {row.number: row for row in fetch_named(SQL.checkpoints, (thread, low, high))}
    ends = sorted((seq, number) for number, seq in commits.items() if number >= low)
    bounds = [begin, *(seq for seq, _ in ends)]
    places = [event.seq for event in events]
    for (lower, upper), (_, number) in zip(pairwise(bounds), ends, strict=True):
        row = points.get(number)
        if row is None:
            continue  # somebody took it away; verify says so
        yield LoggedStep(
            thread=thread,
            number=number,
            step=row.step,
            branch=row.branch,
            source=row.source,
            nodes=names(row.nodes),
            next_nodes=names(row.next_nodes),
            delta=decoded(row.delta),
            seq=upper,
            events=tuple(events[bisect_right(places, lower) : bisect_right(places, upper)]),
        )


def logged_since(head: CheckpointRow, *, kinds: Sequence[str]) -> LoggedStep | None:
    """Read what the log holds after the commit of a head; None for any other checkpoint."""
    if not rows(
        "SELECT 1 FROM gp_thread WHERE id = %s::uuid AND head = %s::uuid", (head.thread, head.id)
    ):
        return None
    commits: dict[int, int] = dict(rows(SQL.commits, (head.thread, 0, head.number, head.number)))
    begin = max(commits.values(), default=0)
    events = tuple(_events(head.thread, begin, 2**62, kinds))
    return LoggedStep(
        head.thread, head.number, head.step + 1, head.branch, "", (), (), {}, begin, events
    )


def _events(thread: UUID, begin: int, end: int, kinds: Sequence[str]) -> list[LoggedEvent]:
    return [
        LoggedEvent(
            row.seq,
            row.kind,
            decoded(row.data),
            row.activity,
            row.fan_out,
            row.state,
            row.error,
            None if row.args is None else decoded(row.args),
            None if row.result is None else decoded(row.result),
        )
        for row in fetch_named(SQL.contents, (thread, begin, end, list(kinds)))
    ]
