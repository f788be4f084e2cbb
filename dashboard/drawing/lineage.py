"""Layout of a thread's checkpoints: the tree as lanes, newest first.

Pure functions from rows of `checkpoints.queries` to coordinates; templates draw them with SVG
attributes. Lane 0 is the way from the head back to the first checkpoint, whatever thread wrote
it; every way that was left behind gets a lane of its own to the right.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import UUID

from .step_times import Times

if TYPE_CHECKING:
    from checkpoints.views import CheckpointRow, ThreadRow

ROW = 40  # pixels of a row, as in thread.css
LANE_X, LANE_GAP = 16, 18
MAX_LANES = 4
LIMIT = 200
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
    times: Times | None
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
    newer: int
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
    times: Mapping[UUID, Times] | None = None,
    limit: int = LIMIT,
    tip: UUID | None = None,
) -> Lineage:
    """Place `rows` (newest first, ancestors included) below the row of the thread's status.

    `selected` defaults to the head; `forked_at` holds the checkpoints that other threads were
    forked from, `times` how long each was queued, worked and waited. At most `limit` rows around
    the selected one are placed; `newer` and `more` count those of `rows` above and below. `tip`
    is the newest of `rows` on the way to the head where the head is not among them.
    """
    selected = selected or thread.head
    on_path = {row.id for row in head_path(rows, tip or thread.head)}
    index = next((i for i, row in enumerate(rows) if row.id == selected), 0)
    low = max(min(index - limit // 2, len(rows) - limit), 0)
    shown = rows[low : low + limit]
    lanes = _lanes(shown, on_path)
    placed = tuple(
        _row(row, i, lanes[row.id], on_path, times or {}, thread, selected, forked_at)
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
        more=len(rows) - low - len(shown),
        newer=low,
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
    times: Mapping[UUID, Times],
    thread: ThreadRow,
    selected: UUID | None,
    forked_at: Collection[UUID],
) -> Row:
    own, on = row.thread == thread.id, row.id in on_path
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
        times=times.get(row.id),
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
