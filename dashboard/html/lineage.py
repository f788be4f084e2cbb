"""Layout of a thread's checkpoints: the tree as lanes, newest first.

Pure functions from rows of `checkpoints.queries` to coordinates; templates draw them with SVG
attributes. Lane 0 is the way from the head back to the first checkpoint, whatever thread wrote
it; every branch that was left behind gets a lane of its own to the right, and so does each fork
from the checkpoint that it began at. Each has a colour, the same on all pages (`--lane-N` of
tokens.css), and its name beside it.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from uuid import UUID

from .step_times import Times

if TYPE_CHECKING:
    from checkpoints.views import CheckpointRow, ThreadRow

ROW = 40  # pixels of a row, as in thread.css
LANE_X, LANE_GAP = 16, 18
MAX_LANES = 4
LIMIT = 200
COLOURS = 6
FORKS = 4  # that have a lane; all stand in the list of forks
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
class Branch:
    """A fork with its place above the checkpoint that it began at."""

    thread: ThreadRow
    colour: int
    x: int
    y: int


@dataclass(frozen=True, slots=True)
class Row:
    """One checkpoint with its place: `shape` is dot, hollow, hook, dashed or base.

    `colour` is that of the branch it was left behind on, else 0; `forks` began at it.
    """

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
    colour: int = 0
    forks: tuple[Branch, ...] = ()


@dataclass(frozen=True, slots=True)
class Line:
    """A connection from a checkpoint to its parent; `tone` is main, side, base, fork or next."""

    path: str
    tone: str
    colour: int = 0


@dataclass(frozen=True, slots=True)
class Lineage:
    """The rows and lines to draw. `top` is the y of the row of the thread's current checkpoint."""

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


def colour_of_branch(branch: int) -> int:
    """The colour of a branch that a rollback left behind, 1 to COLOURS."""
    return branch % COLOURS + 1


def colours_of_forks(forks: Sequence[ThreadRow]) -> dict[UUID, int]:
    """{fork: its colour} of all forks of a thread, newest first; from the other end of the list.

    A colour stays as it is when another fork is made.
    """
    return {fork.id: COLOURS - n % COLOURS for n, fork in enumerate(reversed(forks))}


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
    forks: Sequence[ThreadRow] = (),
    times: Mapping[UUID, Times] | None = None,
    limit: int = LIMIT,
    tip: UUID | None = None,
) -> Lineage:
    """Place `rows` (newest first, ancestors included) below the row of the thread's status.

    `selected` defaults to the head; `forks` are the threads that were forked from any of them,
    newest first, `times` how long each was queued, worked and waited. At most `limit` rows around
    the selected one are placed; `newer` and `more` count those of `rows` above and below. `tip`
    is the newest of `rows` on the way to the head where the head is not among them.
    """
    selected = selected or thread.head
    on_path = {row.id for row in head_path(rows, tip or thread.head)}
    index = next((i for i, row in enumerate(rows) if row.id == selected), 0)
    low = max(min(index - limit // 2, len(rows) - limit), 0)
    shown = rows[low : low + limit]
    tracks = _tracks(shown, on_path)
    n_lanes = max((track.lane for track in tracks.values()), default=0) + 1
    points = {fork.forked_from for fork in forks}
    began = _began(forks, {row.id for row in shown})
    placed, y = [], ROW // 2
    for row in shown:
        above = tuple(_branches(began.get(row.id, ()), n_lanes, y))
        y += ROW * (len(above) + 1)
        own = _row(row, y, tracks[row.id], times or {}, thread, selected, above)
        placed.append(_with_point(own) if row.id in points else own)
    xs = [row.x for row in placed] + [fork.x for row in placed for fork in row.forks]
    right = max(xs, default=LANE_X)
    n_lanes = (right - LANE_X) // LANE_GAP + 1
    return Lineage(
        rows=tuple(placed),
        lines=tuple(_lines(placed, thread)),
        lanes=n_lanes,
        width=LANE_X * 2 + LANE_GAP * (n_lanes - 1),
        height=y + ROW // 2,
        top=ROW // 2,
        more=len(rows) - low - len(shown),
        newer=low,
        total=len(rows),
        left_behind=sum(1 for row in rows if row.id not in on_path),
    )


def _began(
    forks: Sequence[ThreadRow], shown: Container[UUID]
) -> dict[UUID, list[tuple[ThreadRow, int]]]:
    """{checkpoint: [(fork, colour)]} of the newest FORKS that began at one of those shown."""
    colours = colours_of_forks(forks)
    results: dict[UUID, list[tuple[ThreadRow, int]]] = {}
    pairs = [(fork.forked_from, fork) for fork in forks if fork.forked_from in shown]
    for point, fork in pairs[:FORKS]:
        if point is not None:
            results.setdefault(point, []).append((fork, colours[fork.id]))
    return results


def _branches(began: Sequence[tuple[ThreadRow, int]], n_lanes: int, y: int) -> Iterable[Branch]:
    """Forks of one checkpoint, each in a row above it and in a lane right of all others."""
    for n, (fork, colour) in enumerate(began):
        lane = min(n_lanes + len(began) - 1 - n, MAX_LANES)
        yield Branch(fork, colour, LANE_X + LANE_GAP * lane, y + ROW * (n + 1))


@dataclass(frozen=True, slots=True)
class _Track:
    """The lane of a checkpoint: 0, or that of a branch, whose newest it may be."""

    lane: int = 0
    branch: int | None = None
    newest: bool = False


def _tracks(rows: Sequence[CheckpointRow], on_path: set[UUID]) -> dict[UUID, _Track]:
    """The track of each row; a side lane is held from its newest row down to where it left."""
    tracks: dict[UUID, _Track] = {}
    # held[i] = (the checkpoint that side lane i + 1 leads to, the branch on it)
    held: list[tuple[UUID | None, int]] = []
    for row in rows:
        ends = [i for i, (expected, _) in enumerate(held) if expected == row.id]
        if row.id in on_path:
            track = _Track()
        elif ends:
            track = _Track(ends[0] + 1, held[ends[0]][1])
        else:
            free = next((i for i, (expected, _) in enumerate(held) if expected is None), len(held))
            held[free:free] = [] if free < len(held) else [(None, 0)]
            track = _Track(free + 1, row.branch, newest=True)
        for i in ends:
            held[i] = (None, 0)
        if track.branch is not None:
            held[track.lane - 1] = (row.parent, track.branch)
        tracks[row.id] = track
    return {key: replace(track, lane=min(track.lane, MAX_LANES)) for key, track in tracks.items()}


def _row(
    row: CheckpointRow,
    y: int,
    track: _Track,
    times: Mapping[UUID, Times],
    thread: ThreadRow,
    selected: UUID | None,
    forks: tuple[Branch, ...],
) -> Row:
    own = row.thread == thread.id
    shape = SHAPES.get(row.source, "dot")
    colour = 0 if track.branch is None else colour_of_branch(track.branch)
    marks = [Mark("head", "head")] if row.id == thread.head else []
    if track.branch is not None:
        shape = "dashed"
        name = f"branch {track.branch}" if track.newest else "left behind"
        marks.append(Mark(name, f"lane-{colour}" if track.newest else ""))
    elif not own:
        shape = "base"
        marks.append(Mark("base"))
    if row.source in TAGS and own:
        tone = "t-stuck" if row.source in ("edit", "fork") else ""
        marks.append(Mark(TAGS[row.source], tone))
    return Row(
        checkpoint=row,
        lane=track.lane,
        x=LANE_X + LANE_GAP * track.lane,
        y=y,
        shape=shape,
        on_path=track.branch is None,
        head=row.id == thread.head,
        selected=row.id == selected,
        own=own,
        times=times.get(row.id),
        marks=tuple(marks),
        colour=colour,
        forks=forks,
    )


def _with_point(row: Row) -> Row:
    return replace(row, marks=(*row.marks, Mark("fork point", "t-stuck")))


def _lines(placed: Sequence[Row], thread: ThreadRow) -> Iterable[Line]:
    at = {row.checkpoint.id: row for row in placed}
    if thread.head in at:
        head = at[thread.head]
        yield Line(f"M{head.x} {ROW // 2 + 9}V{head.y}", "next")
    for row in placed:
        parent = at.get(row.checkpoint.parent) if row.checkpoint.parent else None
        tone = "side" if not row.on_path else "main" if row.own else "base"
        if parent is not None:
            yield Line(_curve(row, parent), tone, row.colour)
        elif row.checkpoint.parent:
            # The parent lies below the last row shown: a stub says that the way continues.
            yield Line(f"M{row.x} {row.y}v{ROW // 2}", tone, row.colour)
        for fork in row.forks:
            yield Line(_curve(fork, row), "fork", fork.colour)


def _curve(child: Row | Branch, parent: Row) -> str:
    if child.x == parent.x:
        return f"M{child.x} {child.y}V{parent.y}"
    turn = parent.y - 26
    down = f"V{turn}" if turn > child.y else ""
    start = turn if turn > child.y else child.y
    return (
        f"M{child.x} {child.y}{down}"
        f"C{child.x} {start + 16} {parent.x} {parent.y - 16} {parent.x} {parent.y}"
    )
