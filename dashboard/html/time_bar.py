"""The bar of time: the head's way as segments, each split into queued, waiting and working; pure.

Widths grow with the root of the seconds, and queues and waits have a limit, so that one long wait
presses no other segment flat. What has no span (a fork, a rollback) is a thin gap.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import UUID

from dashboard.wording.text import cut

from .lineage import colours_of_forks, head_path
from .step_times import QUEUED, WAITING, WORKING, Times

if TYPE_CHECKING:
    from checkpoints.views import CheckpointRow, ThreadRow

# How much of the bar of time its hatched end takes: standing still, or at work on the next step.
TAILS = {"waiting": 18.0, "sleeping": 18.0, "paused": 18.0, "attention": 18.0}
TAILS |= {"running": 9.0, "queued": 9.0, "rolling_back": 9.0}
UNKNOWN = "unknown"  # neither measured nor guessed
SHORTEST = 0.05  # seconds; a shorter queue or wait is not drawn
LIMITS = {QUEUED: 2.0, WAITING: 3.0, WORKING: 9.0}
LABEL, LABEL_WIDTH, LABELS_END = 24, 20.0, 100.0  # of a fork: characters, per cent
THIN = 0.5  # weight of what took no time of its own


@dataclass(frozen=True, slots=True)
class Piece:
    """One stretch of a segment: tone is queued, waiting, working or unknown."""

    tone: str
    x: float
    width: float


@dataclass(frozen=True, slots=True)
class Segment:
    """The stretch before one checkpoint, in per cent of the bar; `label` is empty if too long."""

    checkpoint: CheckpointRow
    x: float
    width: float
    label: str
    selected: bool
    times: Times | None
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class ForkMark:
    """A fork where it began, in per cent of the bar; `label` is empty where it has no room."""

    thread: ThreadRow
    colour: int
    x: float
    label: str


@dataclass(frozen=True, slots=True)
class TimeBar:
    """The head's way as one bar; `knob` is where the shown checkpoint ends, in per cent."""

    segments: tuple[Segment, ...]
    knob: float
    shown: CheckpointRow
    before: CheckpointRow | None
    after: CheckpointRow | None
    tail_x: float | None
    tail_width: float
    forks: tuple[ForkMark, ...] = ()


def timebar(
    rows: Sequence[CheckpointRow],
    *,
    thread: ThreadRow,
    selected: UUID | None = None,
    times: Mapping[UUID, Times] | None = None,
    tip: UUID | None = None,
    limit: int = 200,
    forks: Sequence[ThreadRow] = (),
) -> TimeBar | None:
    """The bar of the head's way, or None while there is nothing to choose from.

    At most `limit` checkpoints around the selected one are drawn. `tip` is the newest of `rows` on
    that way where the head is not among them. A thread that is not at its end gets a hatched tail.
    A checkpoint that was left behind is shown at the point where its way was left. `forks` of the
    thread, newest first, are marked where they began.
    """
    tip = tip or thread.head
    path = head_path(rows, tip)[::-1]
    if len(path) < 2:
        return None
    at = _place_on(path, rows, selected or tip)
    index = next((i for i, row in enumerate(path) if row.id == at), len(path) - 1)
    # Around the selected one, and as many as fit at either end.
    low = max(min(index - limit // 2, len(path) - limit), 0)
    drawn = path[low : low + limit]
    tail = TAILS.get(thread.status, 0.0) if drawn[-1].id == thread.head else 0.0
    segments, end = _segments(drawn, times or {}, 100.0 - tail, at)
    chosen = segments[index - low]
    return TimeBar(
        segments=tuple(segments),
        knob=round(chosen.x + chosen.width, 2),
        shown=next((row for row in rows if row.id == selected), path[index]),
        before=path[index - 1] if index else None,
        after=path[index + 1] if index + 1 < len(path) else None,
        tail_x=round(end, 2) if tail else None,
        tail_width=tail,
        forks=tuple(_fork_marks(segments, forks)),
    )


def _place_on(
    path: Sequence[CheckpointRow], rows: Sequence[CheckpointRow], checkpoint: UUID | None
) -> UUID | None:
    """The checkpoint, or the one of the path where its way was left; None where it never met it."""
    ids = {row.id for row in path}
    parents = {row.id: row.parent for row in rows}
    while checkpoint is not None and checkpoint not in ids:
        checkpoint = parents.get(checkpoint)
    return checkpoint


def _segments(
    path: Sequence[CheckpointRow], times: Mapping[UUID, Times], whole: float, at: UUID | None
) -> tuple[list[Segment], float]:
    """(the segments of a path that share a width, in per cent of the bar, where the last one ends).

    `at` is the selected one.
    """
    weights = [list(_weights(times.get(row.id))) for row in path]
    scale = whole / sum(weight for parts in weights for _, weight in parts)
    segments, x = [], 0.0
    for row, parts in zip(path, weights, strict=True):
        width = sum(weight for _, weight in parts) * scale
        label = " + ".join(row.nodes) or row.source
        segments.append(
            Segment(
                checkpoint=row,
                x=round(x, 2),
                width=round(max(width - 0.3, 0.4), 2),
                label=label if len(label) < width * 1.15 else "",
                selected=row.id == at,
                times=times.get(row.id),
                pieces=tuple(_pieces(parts, x, scale)),
            )
        )
        x += width
    return segments, x


def _fork_marks(segments: Sequence[Segment], forks: Sequence[ThreadRow]) -> Iterator[ForkMark]:
    """Marks from left to right; of several at one place the newest, with a label if there is room.

    The list of forks has all of them.
    """
    colours = colours_of_forks(forks)
    newest = {fork.forked_from: fork for fork in reversed(forks)}
    places = [
        (part.x + part.width, newest[part.checkpoint.id])
        for part in segments
        if part.checkpoint.id in newest
    ]
    for n, (x, fork) in enumerate(places):
        following = places[n + 1][0] if n + 1 < len(places) else LABELS_END
        label = cut(fork.title, at_most=LABEL) if following - x >= LABEL_WIDTH else ""
        yield ForkMark(fork, colours[fork.id], round(x, 2), label)


def _weights(times: Times | None) -> Iterator[tuple[str, float]]:
    """(tone, weight) of a segment's stretches, in the order in which they mostly come."""
    if times is None:
        yield UNKNOWN, THIN
        return
    for tone in (QUEUED, WAITING, WORKING):
        seconds = max(getattr(times, tone), 0.0)
        if tone == WORKING:
            yield tone, max(min(seconds**0.5, LIMITS[tone]), THIN)
        elif seconds >= SHORTEST:
            yield tone, min(seconds**0.5, LIMITS[tone])


def _pieces(parts: Sequence[tuple[str, float]], x: float, scale: float) -> Iterator[Piece]:
    last = len(parts) - 1
    for n, (tone, weight) in enumerate(parts):
        width = weight * scale
        # A gap to the next segment, none inside of one.
        yield Piece(tone, round(x, 2), round(max(width - 0.3 * (n == last), 0.3), 2))
        x += width
