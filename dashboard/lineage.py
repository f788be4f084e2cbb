"""Layout of a thread's checkpoints: the tree as lanes, newest first, and the bar of time.

Pure functions from rows of `checkpoints.queries` to coordinates; templates draw them with SVG
attributes. Lane 0 is the way from the head back to the first checkpoint, whatever thread wrote
it; every way that was left behind gets a lane of its own to the right.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import TYPE_CHECKING
from uuid import UUID

if TYPE_CHECKING:
    from checkpoints.views import CheckpointRow, ThreadRow

ROW = 40  # pixels of a row, as in thread.css
LANE_X, LANE_GAP = 16, 18
MAX_LANES = 4
LIMIT = 200
# How much of the bar of time its hatched end takes: standing still, or at work on the next step.
TAILS = {"waiting": 18.0, "sleeping": 18.0, "paused": 18.0, "attention": 18.0}
TAILS |= {"running": 9.0, "queued": 9.0, "rolling_back": 9.0}
SHAPES = {"edit": "hollow", "fork": "hollow", "rollback": "hook", "upgrade": "hollow"}
TAGS = {
    "input": "input",
    "edit": "state edited",
    "fork": "fork",
    "rollback": "rolled back",
    "upgrade": "upgraded",
    "import": "imported",
}


@dataclass(frozen=True, slots=True)
class Mark:
    """A word beside a row; `tone` is a tone class or "" for neutral, "head" for the newest."""

    text: str
    tone: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """One checkpoint with its place: `shape` is dot, hollow, hook, dashed or base."""

    checkpoint: CheckpointRow
    lane: int
    x: int
    y: int
    shape: str
    on_path: bool
    head: bool
    selected: bool
    own: bool
    seconds: float | None
    marks: tuple[Mark, ...]


@dataclass(frozen=True, slots=True)
class Line:
    """A connection from a checkpoint to its parent; `tone` is main, side, base or next."""

    path: str
    tone: str


@dataclass(frozen=True, slots=True)
class Lineage:
    """What the list draws. `top` is the y of the row that says where the thread stands now."""

    rows: tuple[Row, ...]
    lines: tuple[Line, ...]
    lanes: int
    width: int
    height: int
    top: int
    more: int
    total: int
    left_behind: int


def head_path(rows: Iterable[CheckpointRow], head: UUID | None) -> list[CheckpointRow]:
    """The rows from `head` back to the first, newest first; ends where a parent is not known."""
    by_id = {row.id: row for row in rows}
    path: list[CheckpointRow] = []
    at = head
    while at is not None and at in by_id:
        row = by_id.pop(at)  # popping ends a walk over broken data
        path.append(row)
        at = row.parent
    return path


def layout(
    rows: Sequence[CheckpointRow],
    *,
    thread: ThreadRow,
    selected: UUID | None = None,
    forked_at: Collection[UUID] = (),
    limit: int = LIMIT,
) -> Lineage:
    """Place `rows` (newest first, ancestors included) below the row of the thread's status.

    `selected` defaults to the head; `forked_at` holds the checkpoints that other threads were
    forked from. At most `limit` rows are placed, `more` counts the rest.
    """
    selected = selected or thread.head
    on_path = {row.id for row in head_path(rows, thread.head)}
    times = {row.id: row.created_at for row in rows}
    shown = rows[:limit]
    lanes = _lanes(shown, on_path)
    placed = tuple(
        _row(row, i, lanes[row.id], on_path, times, thread, selected, forked_at)
        for i, row in enumerate(shown)
    )
    n_lanes = max((row.lane for row in placed), default=0) + 1
    return Lineage(
        rows=placed,
        lines=tuple(_lines(placed, thread)),
        lanes=n_lanes,
        width=LANE_X * 2 + LANE_GAP * (n_lanes - 1),
        height=ROW * (len(placed) + 1),
        top=ROW // 2,
        more=len(rows) - len(shown),
        total=len(rows),
        left_behind=sum(1 for row in rows if row.id not in on_path),
    )


def _lanes(rows: Sequence[CheckpointRow], on_path: set[UUID]) -> dict[UUID, int]:
    """Lane of each row; a side lane is held from its newest row down to where it left."""
    lanes: dict[UUID, int] = {}
    held: list[UUID | None] = []  # held[i] = the checkpoint that side lane i + 1 leads to
    for row in rows:
        if row.id in on_path:
            lanes[row.id] = 0
        elif row.id in held:
            lanes[row.id] = held.index(row.id) + 1
        else:
            if None not in held:
                held.append(None)
            lanes[row.id] = held.index(None) + 1
        for i, expected in enumerate(held):
            if expected == row.id:
                held[i] = None
        if lanes[row.id]:
            held[lanes[row.id] - 1] = row.parent
    return {key: min(lane, MAX_LANES) for key, lane in lanes.items()}


def _row(
    row: CheckpointRow,
    index: int,
    lane: int,
    on_path: set[UUID],
    times: dict[UUID, datetime],
    thread: ThreadRow,
    selected: UUID | None,
    forked_at: Collection[UUID],
) -> Row:
    own, on = row.thread == thread.id, row.id in on_path
    before = times.get(row.parent) if row.parent else None
    shape = SHAPES.get(row.source, "dot")
    marks = [Mark("head", "head")] if row.id == thread.head else []
    if not on:
        shape = "dashed"
        marks.append(Mark("left behind"))
    elif not own:
        shape = "base"
        marks.append(Mark("base"))
    if row.source in TAGS and own:
        tone = "t-stuck" if row.source in ("edit", "fork") else ""
        marks.append(Mark(TAGS[row.source], tone))
    if row.id in forked_at:
        marks.append(Mark("fork point", "t-stuck"))
    return Row(
        checkpoint=row,
        lane=lane,
        x=LANE_X + LANE_GAP * lane,
        y=ROW * (index + 1) + ROW // 2,
        shape=shape,
        on_path=on,
        head=row.id == thread.head,
        selected=row.id == selected,
        own=own,
        seconds=(row.created_at - before).total_seconds() if before else None,
        marks=tuple(marks),
    )


def _lines(placed: Sequence[Row], thread: ThreadRow) -> Iterable[Line]:
    at = {row.checkpoint.id: row for row in placed}
    if thread.head in at:
        head = at[thread.head]
        yield Line(f"M{head.x} {ROW // 2 + 9}V{head.y}", "next")
    for row in placed:
        parent = at.get(row.checkpoint.parent) if row.checkpoint.parent else None
        tone = "side" if not row.on_path else "main" if row.own else "base"
        if parent is not None:
            yield Line(_curve(row, parent), tone)
        elif row.checkpoint.parent:
            # The parent lies below the last row shown: a stub says that the way goes on.
            yield Line(f"M{row.x} {row.y}v{ROW // 2}", tone)


def _curve(child: Row, parent: Row) -> str:
    if child.x == parent.x:
        return f"M{child.x} {child.y}V{parent.y}"
    turn = parent.y - 26
    down = f"V{turn}" if turn > child.y else ""
    start = turn if turn > child.y else child.y
    return (
        f"M{child.x} {child.y}{down}"
        f"C{child.x} {start + 16} {parent.x} {parent.y - 16} {parent.x} {parent.y}"
    )


@dataclass(frozen=True, slots=True)
class Segment:
    """The work that made one checkpoint, in per cent of the bar; `label` is empty if too long."""

    checkpoint: CheckpointRow
    x: float
    width: float
    label: str
    selected: bool
    seconds: float | None


@dataclass(frozen=True, slots=True)
class TimeBar:
    """The head's way as one bar; `knob` is where the shown checkpoint ends, in per cent."""

    segments: tuple[Segment, ...]
    knob: float
    shown: CheckpointRow
    number: int
    total: int
    before: UUID | None
    after: UUID | None
    tail_x: float | None
    tail_width: float


def timebar(
    rows: Sequence[CheckpointRow], *, thread: ThreadRow, selected: UUID | None = None
) -> TimeBar | None:
    """The bar of the head's way, or None while there is nothing to choose from.

    A segment's width grows with the root of its seconds, so that one long wait does not press
    the others flat; a thread that is not at its end gets a hatched tail. A checkpoint that was left
    behind is shown at the point where its way was left.
    """
    path = head_path(rows, thread.head)[::-1]
    if len(path) < 2:
        return None
    ids = [row.id for row in path]
    parents = {row.id: row.parent for row in rows}
    at: UUID | None = selected or thread.head
    while at is not None and at not in ids:
        at = parents.get(at)
    index = ids.index(at) if at is not None else len(ids) - 1
    shown = next((row for row in rows if row.id == selected), path[index])
    spans = [None] + [
        max((b.created_at - a.created_at).total_seconds(), 0.0) for a, b in pairwise(path)
    ]
    weights = [min(max(span or 0.0, 0.25) ** 0.5, 9.0) for span in spans]
    tail = TAILS.get(thread.status, 0.0)
    scale = (100.0 - tail) / sum(weights)
    segments, x = [], 0.0
    for row, weight, span in zip(path, weights, spans, strict=True):
        width = weight * scale
        label = " + ".join(row.nodes) or row.source
        segments.append(
            Segment(
                checkpoint=row,
                x=round(x, 2),
                width=round(max(width - 0.3, 0.4), 2),
                label=label if len(label) < width * 1.15 else "",
                selected=row.id == at,
                seconds=span,
            )
        )
        x += width
    chosen = segments[index]
    return TimeBar(
        segments=tuple(segments),
        knob=round(chosen.x + chosen.width, 2),
        shown=shown,
        number=index + 1,
        total=len(path),
        before=ids[index - 1] if index else None,
        after=ids[index + 1] if index + 1 < len(ids) else None,
        tail_x=round(x, 2) if tail else None,
        tail_width=tail,
    )
