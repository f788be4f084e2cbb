"""The checkpoint tree as lanes and the bar of time: where each row and line stands."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any
from uuid import UUID, uuid4

from dashboard.html import lineage
from dashboard.html.step_times import Times
from dashboard.html.time_bar import timebar

T0 = datetime(2026, 11, 21, 14, 0, tzinfo=UTC)
MINE, BASE = uuid4(), uuid4()


def row(number: int, parent: Any = None, *, thread: UUID = MINE, **facts: Any) -> Any:
    """A checkpoint `number` seconds after the first."""
    return SimpleNamespace(
        id=uuid4(),
        thread=thread,
        number=number,
        branch=facts.get("branch", 0),
        parent=parent and parent.id,
        source=facts.get("source", "step"),
        nodes=facts.get("nodes", (f"n{number}",)),
        created_at=T0 + timedelta(seconds=facts.get("at", number)),
    )


def thread(head: Any, status: str = "running") -> Any:
    return SimpleNamespace(id=MINE, head=head.id, status=status)


def fork(base: Any, title: str = "a fork") -> Any:
    return SimpleNamespace(id=uuid4(), forked_from=base.id, title=title)


def straight(n: int) -> list[Any]:
    """n checkpoints in a row, newest first."""
    rows = [row(0, source="input")]
    for i in range(1, n):
        rows.append(row(i, rows[-1]))
    return rows[::-1]


def rolled_back() -> tuple[list[Any], dict[int, Any]]:
    """0-1-2-3-4, rolled back to 1 (5), then 6: 2, 3 and 4 were left behind."""
    r = {0: row(0, source="input")}
    for i in (1, 2, 3, 4):
        r[i] = row(i, r[i - 1])
    r[5] = row(5, r[1], source="rollback", nodes=())
    r[6] = row(6, r[5])
    return [r[i] for i in (6, 5, 4, 3, 2, 1, 0)], r


def test_a_straight_way_has_one_lane_and_the_row_of_the_status_on_top() -> None:
    rows = straight(4)
    drawn = lineage.layout(rows, thread=thread(rows[0]))
    assert [p.lane for p in drawn.rows] == [0, 0, 0, 0]
    assert drawn.lanes == 1
    assert [p.y for p in drawn.rows] == [60, 100, 140, 180]
    assert drawn.height == 5 * lineage.ROW
    assert [p.head for p in drawn.rows] == [True, False, False, False]
    assert [line.tone for line in drawn.lines] == ["next", "main", "main", "main"]
    assert drawn.lines[1].path == "M16 60V100"


def test_what_was_left_behind_stands_in_a_lane_of_its_own() -> None:
    rows, r = rolled_back()
    drawn = lineage.layout(rows, thread=thread(r[6]))
    lanes = {p.checkpoint.number: p.lane for p in drawn.rows}
    assert lanes == {6: 0, 5: 0, 4: 1, 3: 1, 2: 1, 1: 0, 0: 0}
    shapes = {p.checkpoint.number: p.shape for p in drawn.rows}
    assert shapes[4] == "dashed"
    assert shapes[5] == "hook"
    assert drawn.left_behind == 3
    assert "left behind" in [m.text for p in drawn.rows for m in p.marks if not p.on_path]
    turn = next(line for line in drawn.lines if line.tone == "side" and "C" in line.path)
    target = next(p for p in drawn.rows if p.checkpoint.number == 1)
    assert turn.path.endswith(f"{target.x} {target.y}")


def test_lanes_are_used_again_once_their_way_has_joined() -> None:
    r = {0: row(0)}
    r[1], r[2] = row(1, r[0]), row(2, r[0], source="rollback")
    r[3], r[4] = row(3, r[2]), row(4, r[2], source="rollback")
    rows = [r[i] for i in (4, 3, 2, 1, 0)]
    drawn = lineage.layout(rows, thread=thread(r[4]))
    assert {p.checkpoint.number: p.lane for p in drawn.rows} == {4: 0, 3: 1, 2: 0, 1: 1, 0: 0}


def test_the_past_of_the_base_is_on_the_way_but_not_our_own() -> None:
    a = row(0, thread=BASE, source="input")
    b = row(1, a, thread=BASE)
    mine = row(0, b, source="fork", nodes=())
    drawn = lineage.layout([mine, b, a], thread=thread(mine))
    assert [p.shape for p in drawn.rows] == ["hollow", "base", "base"]
    assert [p.own for p in drawn.rows] == [True, False, False]
    assert [line.tone for line in drawn.lines] == ["next", "main", "base"]
    assert drawn.left_behind == 0


def test_selected_head_and_fork_points_are_marked() -> None:
    rows = straight(3)
    drawn = lineage.layout(rows, thread=thread(rows[0]), selected=rows[1].id, forks=[fork(rows[2])])
    assert [p.selected for p in drawn.rows] == [False, True, False]
    assert [m.text for m in drawn.rows[0].marks] == ["head"]
    assert "fork point" in [m.text for m in drawn.rows[2].marks]


def test_a_long_way_is_cut_and_says_how_much_is_missing() -> None:
    rows = straight(30)
    drawn = lineage.layout(rows, thread=thread(rows[0]), limit=10)
    assert len(drawn.rows) == 10
    assert drawn.more == 20
    assert drawn.total == 30
    assert drawn.lines[-1].path.endswith(f"v{lineage.ROW // 2}")


def test_many_ways_are_drawn_in_few_lanes() -> None:
    first = row(0)
    ways = [row(i, first) for i in range(1, 9)]
    drawn = lineage.layout([*ways[::-1], first], thread=thread(ways[-1]))
    assert drawn.lanes == lineage.MAX_LANES + 1


def test_an_empty_thread_and_a_broken_parent_are_drawn_too() -> None:
    lost = row(5, SimpleNamespace(id=uuid4()))
    assert lineage.layout([], thread=thread(lost)).rows == ()
    drawn = lineage.layout([lost], thread=thread(lost))
    assert drawn.rows[0].times is None


def test_head_path_follows_parents_and_ends_on_a_circle() -> None:
    rows, r = rolled_back()
    assert [c.number for c in lineage.head_path(rows, r[6].id)] == [6, 5, 1, 0]
    r[0].parent = r[6].id
    assert [c.number for c in lineage.head_path(rows, r[6].id)] == [6, 5, 1, 0]
    assert lineage.head_path(rows, None) == []


def test_the_bar_fills_its_width_and_steps_to_the_neighbours() -> None:
    rows = straight(5)
    bar = timebar(rows, thread=thread(rows[0], "succeeded"), selected=rows[2].id)
    assert bar is not None
    assert len(bar.segments) == 5
    last = bar.segments[-1]
    assert 99 <= last.x + last.width <= 100
    assert bar.tail_x is None
    assert (bar.before, bar.after) == (rows[3], rows[1])
    assert bar.shown is rows[2]
    assert [s.selected for s in bar.segments] == [False, False, True, False, False]


def test_a_thread_that_stands_still_gets_a_hatched_end() -> None:
    rows = straight(3)
    bar = timebar(rows, thread=thread(rows[0], "waiting"))
    assert bar is not None
    assert bar.tail_x == 82.0
    assert bar.tail_width == 18.0
    assert bar.after is None


def test_one_long_wait_does_not_press_the_others_flat() -> None:
    a = row(0)
    b = row(1, a, at=86_400)
    c = row(2, b, at=86_404)
    known = {b.id: Times(queued=31, working=0.4, waiting=86_368), c.id: Times(working=4)}
    bar = timebar([c, b, a], thread=thread(c), times=known)
    assert bar is not None
    assert min(s.width for s in bar.segments) > 3
    tones = [[piece.tone for piece in s.pieces] for s in bar.segments]
    assert tones == [["unknown"], ["queued", "waiting", "working"], ["working"]]
    for segment in bar.segments:
        drawn = sum(piece.width for piece in segment.pieces)
        assert abs(drawn - segment.width) < 0.7
    assert bar.segments[2].label, "a short step after a long wait keeps its name"


def test_a_checkpoint_left_behind_is_shown_where_its_way_was_left() -> None:
    rows, r = rolled_back()
    bar = timebar(rows, thread=thread(r[6]), selected=r[3].id)
    assert bar is not None
    assert bar.shown is r[3]
    assert [s.checkpoint.number for s in bar.segments if s.selected] == [1]
    assert timebar([], thread=thread(r[6])) is None
    assert timebar([r[0]], thread=thread(r[0])) is None


# --- branches and forks have colours and names ----------------------------------------------------


def test_a_branch_that_was_left_has_a_colour_and_its_newest_row_a_name() -> None:
    rows, r = rolled_back()
    drawn = lineage.layout(rows, thread=thread(r[6]))
    colour = lineage.colour_of_branch(0)
    assert {p.checkpoint.number: p.colour for p in drawn.rows if p.colour} == dict.fromkeys(
        (4, 3, 2), colour
    )
    assert {line.colour for line in drawn.lines if line.tone == "side"} == {colour}
    newest = next(p for p in drawn.rows if p.checkpoint.number == 4)
    assert lineage.Mark("branch 0", f"lane-{colour}") in newest.marks
    assert len({lineage.colour_of_branch(n) for n in range(lineage.COLOURS)}) == lineage.COLOURS


def test_a_fork_has_a_lane_from_the_checkpoint_that_it_began_at() -> None:
    rows = straight(4)
    newer, older = fork(rows[2], "second"), fork(rows[2], "first")
    drawn = lineage.layout(rows, thread=thread(rows[0]), forks=[newer, older])
    assert [p.y for p in drawn.rows] == [60, 100, 220, 260]
    first, second = drawn.rows[2].forks
    assert (first.thread, second.thread) == (newer, older)
    assert [(f.y, f.x) for f in (first, second)] == [(140, 52), (180, 34)]
    assert (drawn.lanes, drawn.height) == (3, 280)
    lines = [line for line in drawn.lines if line.tone == "fork"]
    assert {line.colour for line in lines} == {first.colour, second.colour}
    assert all(line.path.endswith("16 220") for line in lines)

    # Another fork takes no colour of those before it.
    more = lineage.colours_of_forks([fork(rows[0]), newer, older])
    assert lineage.colours_of_forks([newer, older]).items() <= more.items()
    many = [fork(rows[1]) for _ in range(50)]
    drawn = lineage.layout(rows, thread=thread(rows[0]), forks=many)
    assert sum(len(p.forks) for p in drawn.rows) == lineage.FORKS
    assert max(f.x for p in drawn.rows for f in p.forks) <= 16 + 18 * lineage.MAX_LANES


def test_the_bar_marks_where_forks_began_in_the_same_colours() -> None:
    rows = straight(4)
    forks = [fork(rows[2], "newest"), fork(rows[2], "older"), fork(rows[1], "x" * 80)]
    bar = timebar(rows, thread=thread(rows[0], "succeeded"), forks=forks)
    assert bar is not None
    colours = lineage.colours_of_forks(forks)
    assert [(m.thread, m.colour) for m in bar.forks] == [
        (forks[0], colours[forks[0].id]),
        (forks[2], colours[forks[2].id]),
    ]
    ends = {part.checkpoint.id: round(part.x + part.width, 2) for part in bar.segments}
    assert [m.x for m in bar.forks] == [ends[rows[2].id], ends[rows[1].id]]
    assert bar.forks[0].label == "newest"
    assert len(bar.forks[1].label) <= 24
