"""A page's regions and their marks: what its socket lacks, whatever the numbers say."""

from __future__ import annotations

import asyncio

import pytest

from dashboard.live.marks import region_mark

from .fake_sockets import HEAD, Bench, until

BOTH = HEAD | {"thread-plan"}
PLAN = "always the same"


def head(text: str) -> dict[str, str]:
    """What a page has brought that was made while the thread said so."""
    return {"thread-head": f"thread-head {text} for operator", "thread-plan": PLAN}


def test_an_age_is_no_change_and_everything_else_is() -> None:
    html = '<td><time datetime="2026-11-30T12:00:00Z" data-age>{}</time> {}</td>'
    mark = region_mark(html.format("4 s", "Queued"))
    assert mark == region_mark(f"\n  {html.format('2 min', 'Queued')}\n")
    assert mark != region_mark(html.format("4 s", "Paused"))
    assert mark != region_mark(html.format("4 s", "Queued").replace("12:00", "12:01"))


@pytest.mark.parametrize("seq", [0, 1])
@pytest.mark.parametrize("is_followed", [False, True])
async def test_a_page_gets_what_differs_from_its_own(
    bench: Bench, seq: int, is_followed: bool
) -> None:
    if is_followed:
        other, _ = bench.enter(seq=0, regions=BOTH)
        await until(other.frames)
    same, _ = bench.enter(seq=seq, regions=BOTH, brought=head("one"))
    older, _ = bench.enter(seq=seq, regions=BOTH, brought=head("none"))
    await until(older.frames)
    assert older.frames()[0]["regions"] == {"thread-head": head("one")["thread-head"]}
    assert [frame["regions"] for frame in same.frames()] in ([], [{}])
    bench.floor.move("two")
    bench.hint()
    await until(lambda: same.frames() and len(older.frames()) == 2)
    for socket in (same, older):
        assert socket.frames()[-1]["regions"] == {"thread-head": head("two")["thread-head"]}


async def test_a_page_newer_than_the_frame_of_its_number_makes_the_hub_look(bench: Bench) -> None:
    """As where a hint without an event is on its way: nobody is set back, all get the news."""
    first, _ = bench.enter(seq=1, regions=BOTH, brought=head("one"))
    await until(lambda: bench.floor.looks)
    await asyncio.sleep(0.05)
    bench.floor.text = "two"  # the number stays
    newer, _ = bench.enter(seq=1, regions=BOTH, brought=head("two"))
    await until(first.frames)
    await asyncio.sleep(0.1)
    assert first.frames()[0]["regions"] == {"thread-head": head("two")["thread-head"]}
    assert newer.got == []
    assert len(bench.floor.looks) == 2


async def test_a_page_that_joins_during_a_look_is_not_given_an_older_state(bench: Bench) -> None:
    bench.floor.cost = 0.1
    bench.enter(seq=1, regions=BOTH, brought=head("one"))
    await until(lambda: bench.floor.looks)
    bench.floor.text = "two"  # after the look has read
    newer, _ = bench.enter(seq=1, regions=BOTH, brought=head("two"))
    bench.floor.cost = 0.0
    await until(lambda: len(bench.floor.looks) == 2)
    await asyncio.sleep(0.1)
    assert newer.got == []


async def test_pages_without_a_doubt_cost_no_look(bench: Bench) -> None:
    first, _ = bench.enter(seq=0, regions=BOTH)
    await until(first.frames)
    sockets = [bench.enter(seq=1, regions=BOTH, brought=head("one"))[0] for _ in range(50)]
    await asyncio.sleep(0.1)
    assert all(socket.got == [] for socket in sockets)
    assert len(bench.floor.looks) == 1
    bench.floor.move("two")
    bench.hint()
    await until(lambda: all(socket.frames() for socket in sockets))
    assert len(bench.floor.looks) == 2


async def test_pages_that_an_older_database_has_left_behind_do_not_make_it_look_for_ever(
    bench: Bench,
) -> None:
    """A restored database has lower numbers: such a page gets nothing that it would refuse."""
    page, _ = bench.enter(seq=9, regions=BOTH, brought=head("nine"))
    await asyncio.sleep(0.4)
    assert len(bench.floor.looks) == 1
    late, _ = bench.enter(seq=9, regions=BOTH, brought=head("nine"))
    await asyncio.sleep(0.4)
    assert len(bench.floor.looks) == 2
    assert page.got == late.got == []
