"""A topic and its sockets without a server or a database: pace, order, groups, slow sockets."""

from __future__ import annotations

import asyncio
import random
import time
from uuid import uuid4

import pytest

from dashboard.live import served
from dashboard.live.served import Member, Roles

from .fake_sockets import HEAD, OPERATOR, REVIEWER, THREAD, WORKSPACE, Bench, Socket, until


async def test_a_socket_with_an_old_page_catches_up_at_once(bench: Bench) -> None:
    old, _ = bench.enter(seq=0)
    await until(old.frames)
    frame = old.frames()[0]
    assert (frame["topic"], frame["seq"]) == (f"thread:{THREAD}", 1)
    assert frame["regions"] == {"thread-head": "thread-head one for operator"}
    fresh, _ = bench.enter(seq=1)
    late, _ = bench.enter(seq=0)
    await until(late.frames)
    await asyncio.sleep(0.05)
    assert fresh.got == []
    assert len(bench.floor.looks) == 1  # the others got what was rendered for the first


async def test_one_look_serves_all_sockets_and_rights_classes(bench: Bench) -> None:
    sockets = [bench.enter(seq=1, roles=roles)[0] for roles in (OPERATOR, REVIEWER) * 50]
    await until(lambda: len(bench.floor.looks) >= 1)
    await asyncio.sleep(0.06)
    bench.floor.looks.clear()
    bench.floor.move("two")
    bench.hint()
    await until(lambda: all(s.frames() for s in sockets))
    assert bench.floor.looks == [{OPERATOR: HEAD, REVIEWER: HEAD}]
    texts = {s.frames()[0]["regions"]["thread-head"] for s in sockets}
    assert texts == {"thread-head two for operator", "thread-head two for reviewer"}


async def test_many_hints_are_few_looks_and_the_newest_wins(bench: Bench) -> None:
    socket, _ = bench.enter(seq=1)
    bench.floor.cost = 0.005
    began = time.monotonic()
    for i in range(400):
        bench.floor.move(f"text {i}")
        bench.hint()
        await asyncio.sleep(0.001)
    await until(lambda: socket.frames() and socket.frames()[-1]["seq"] == bench.floor.seq)
    took = time.monotonic() - began
    assert "text 399" in socket.frames()[-1]["regions"]["thread-head"]
    assert 2 <= len(bench.floor.looks) <= took / served.MIN_INTERVAL + 3
    seqs = [frame["seq"] for frame in socket.frames()]
    assert seqs == sorted(seqs)


async def test_dear_looks_slow_the_pace_down(bench: Bench) -> None:
    bench.enter(seq=1)
    bench.floor.cost = 0.1
    began = time.monotonic()
    while time.monotonic() - began < 1.0:
        bench.floor.move("x")
        bench.hint()
        await asyncio.sleep(0.005)
    looks = len(bench.floor.looks)
    # A busy machine makes the time longer, never the pauses shorter.
    assert looks <= (time.monotonic() - began) / (3 * bench.floor.cost) + 1


async def test_an_old_or_doubled_hint_reads_nothing(bench: Bench) -> None:
    socket, _ = bench.enter(seq=0)
    await until(socket.frames)
    for _ in range(5):
        bench.hint()
        bench.hub.hint(uuid4(), WORKSPACE, 99)
        bench.hub.hint(THREAD, uuid4(), 99)  # the same id in another workspace is nobody's
        await asyncio.sleep(0.02)
    assert len(bench.floor.looks) == 1


async def test_frames_carry_what_changed_and_newcomers_get_all(bench: Bench) -> None:
    both = HEAD | {"thread-plan"}
    socket, _ = bench.enter(seq=0, regions=both)
    await until(socket.frames)
    assert set(socket.frames()[0]["regions"]) == both
    bench.floor.move("two")
    bench.hint()
    await until(lambda: len(socket.frames()) == 2)
    assert set(socket.frames()[1]["regions"]) == {"thread-head"}
    late, _ = bench.enter(seq=1, regions=both)
    await until(late.frames)
    assert set(late.frames()[0]["regions"]) == both


async def test_a_page_that_fetches_by_itself_gets_empty_frames(bench: Bench) -> None:
    socket, _ = bench.enter(seq=1, regions=frozenset())
    await asyncio.sleep(0.1)
    assert socket.got == []
    bench.floor.move("two")
    bench.hint()
    await until(socket.frames)
    assert socket.frames()[0]["regions"] == {}


async def test_a_slow_socket_misses_frames_and_ends_with_all_of_the_newest(bench: Bench) -> None:
    both = HEAD | {"thread-plan"}
    slow, member = bench.enter(seq=0, regions=both)
    quick, _ = bench.enter(seq=0, regions=both)
    await until(lambda: slow.frames() and quick.frames())
    slow.open.clear()
    for i in range(8):
        bench.floor.move(f"text {i}")
        bench.hint()
        seq = bench.floor.seq
        # Whoever waited for the slow one would wait for ever: it is opened afterwards.
        await until(lambda seq=seq: quick.frames()[-1]["seq"] == seq)
    assert len(member.outbox._waiting) == 1
    assert member.outbox.skipped == 6
    slow.open.set()
    await until(lambda: slow.frames()[-1]["seq"] == bench.floor.seq)
    # Frame, the one in flight, the one that waited: whole, since it stands for seven.
    assert len(slow.frames()) == 3
    assert slow.frames()[-1]["regions"] == {
        "thread-head": "thread-head text 7 for operator",
        "thread-plan": "always the same",
    }


async def test_a_broken_socket_hurts_nobody(bench: Bench) -> None:
    good, _ = bench.enter(seq=0)
    bad, member = bench.enter(seq=0)
    await until(bad.frames)
    bad.broken = True
    left = []
    member.outbox._broken = lambda: left.append(1)
    for i in range(3):
        bench.floor.move(f"text {i}")
        bench.hint()
        await asyncio.sleep(0.08)
    await until(lambda: good.frames()[-1]["seq"] == bench.floor.seq)
    await until(lambda: left)


async def test_a_lost_hint_costs_one_poll(bench: Bench) -> None:
    socket, _ = bench.enter(seq=1)
    await until(lambda: bench.floor.looks)
    bench.floor.move("unheard")
    await bench.hub.watch()
    await until(socket.frames)
    assert "unheard" in socket.frames()[0]["regions"]["thread-head"]
    assert {"type": "beat"} in socket.got
    looks = len(bench.floor.looks)
    await bench.hub.watch()
    await asyncio.sleep(0.1)
    assert len(bench.floor.looks) == looks


@pytest.mark.slow
async def test_a_failing_look_is_tried_again(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    known, _ = bench.enter(seq=0)
    await until(known.frames)
    bench.floor.broken = True
    socket, _ = bench.enter(seq=0, roles=REVIEWER)
    await until(lambda: "Could not read" in caplog.text)
    await asyncio.sleep(1.2)
    # Not on and on: the next hint or poll looks again, though nothing has changed meanwhile.
    assert caplog.text.count("Could not read") == 1
    bench.floor.broken = False
    await bench.hub.watch()
    await until(socket.frames)
    assert socket.frames()[0]["seq"] == 1


async def test_the_number_never_goes_back(bench: Bench) -> None:
    socket, _ = bench.enter(seq=0)
    bench.floor.seq = 50
    await until(socket.frames)
    bench.floor.seq, bench.floor.text = 40, "after a failover"
    await bench.hub.watch()
    await until(lambda: len(socket.frames()) == 2)
    assert [f["seq"] for f in socket.frames()] == [50, 50]


async def test_newcomers_of_another_group_get_a_frame_of_what_is_known(bench: Bench) -> None:
    first, _ = bench.enter(seq=0)
    await until(first.frames)
    other, _ = bench.enter(seq=0, roles=REVIEWER)
    await until(other.frames)
    assert other.frames()[0]["regions"] == {"thread-head": "thread-head one for reviewer"}
    await asyncio.sleep(0.1)
    assert (len(first.frames()), len(bench.floor.looks)) == (1, 2)


async def test_news_that_no_mark_covers_is_sent_at_a_hint(bench: Bench) -> None:
    bench.floor.whole_mark = False
    socket, _ = bench.enter(seq=0)
    await until(socket.frames)
    bench.floor.text = "a count that is not an event"
    bench.hub.hint(THREAD, WORKSPACE, 2)
    await until(lambda: len(socket.frames()) == 2)
    assert "a count" in socket.frames()[1]["regions"]["thread-head"]


async def test_news_without_an_event_is_not_lost_during_a_look(bench: Bench) -> None:
    socket, _ = bench.enter(seq=0)
    await until(socket.frames)
    bench.floor.cost = 0.2
    bench.floor.move("two")
    bench.hint()
    await until(lambda: len(bench.floor.looks) == 2)
    bench.floor.text = "stuck"
    bench.hub.hint(THREAD, WORKSPACE, bench.floor.seq, again=True)
    await until(lambda: len(socket.frames()) == 3)
    assert [f["regions"]["thread-head"] for f in socket.frames()[1:]] == [
        "thread-head two for operator",
        "thread-head stuck for operator",
    ]


async def test_a_newcomer_to_an_emptied_group_misses_nothing(bench: Bench) -> None:
    stays, _ = bench.enter(seq=0)
    _, leaves = bench.enter(seq=0, roles=REVIEWER)
    await until(lambda: stays.frames() and bench.floor.looks)
    await asyncio.sleep(0.1)
    bench.hub.leave(leaves)
    bench.floor.cost = 0.2
    bench.floor.move("two")
    bench.hint()
    await until(lambda: bench.floor.looks[-1] == {OPERATOR: HEAD})
    late, _ = bench.enter(seq=1, roles=REVIEWER)
    await until(lambda: late.frames() and late.frames()[-1]["seq"] == 2)
    assert late.frames()[-1]["regions"] == {"thread-head": "thread-head two for reviewer"}


async def test_a_page_that_is_newer_than_the_look_gets_no_frame(bench: Bench) -> None:
    ahead, _ = bench.enter(seq=5)
    behind, _ = bench.enter(seq=0)
    await until(behind.frames)
    bench.floor.move("two")
    bench.hint()
    await until(lambda: len(behind.frames()) == 2)
    assert ahead.got == []
    bench.floor.seq = 5
    bench.floor.move("six")
    bench.hint()
    await until(ahead.frames)
    assert [f["seq"] for f in ahead.frames()] == [6]


async def test_who_comes_back_during_a_look_is_not_forgotten(bench: Bench) -> None:
    """A page is left, another of the same person joins while others are looked at for news."""
    bench.enter(seq=0, roles=REVIEWER)
    left, member = bench.enter(seq=0)
    await until(left.frames)
    bench.hub.leave(member)
    bench.floor.cost = 0.2
    bench.floor.move("two")
    bench.floor.looks.clear()
    bench.hint()
    await until(lambda: bench.floor.looks)  # it has read "two", for the reviewer alone
    page, _ = bench.enter(seq=1, brought={"thread-head": "thread-head one for operator"})
    await until(page.frames)
    assert page.frames()[-1]["regions"] == {"thread-head": "thread-head two for operator"}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
async def test_every_page_ends_with_the_newest_whatever_comes_and_goes(
    bench: Bench, seed: int
) -> None:
    """Pages are loaded, join later and are left, while the thread moves on under slow looks."""
    chosen = random.Random(seed)
    bench.enter(seq=0, roles=REVIEWER)
    bench.floor.cost = 0.01
    loaded: list[tuple[int, Roles, str]] = []
    joined: list[tuple[str, Socket, Member]] = []
    for number in range(60):
        what = chosen.choice(("move", "load", "join", "leave", "wait"))
        if what == "move":
            bench.floor.move(f"text {number}")
            bench.hint()
        elif what == "load":
            roles = chosen.choice((OPERATOR, REVIEWER))
            html = f"thread-head {bench.floor.text} for {','.join(roles)}"
            loaded.append((bench.floor.seq, roles, html))
        elif what == "join" and loaded:
            seq, roles, html = loaded.pop(chosen.randrange(len(loaded)))
            page = bench.enter(seq=seq, roles=roles, brought={"thread-head": html})
            joined.append((html, *page))
        elif what == "leave" and joined:
            _, _, member = joined.pop(chosen.randrange(len(joined)))
            bench.hub.leave(member)
        await asyncio.sleep(chosen.choice((0, 0, 0.005, 0.02)))

    def behind() -> list[str]:
        shown = []
        for html, socket, _ in joined:
            sent = [frame["regions"].get("thread-head") for frame in socket.frames()]
            shown.append([html, *filter(None, sent)][-1])
        return [html for html in shown if f" {bench.floor.text} " not in html]

    await until(lambda: not behind())
