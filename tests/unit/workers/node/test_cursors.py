"""Cursors of long activities, on the store and in memory alike."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Callable
from types import SimpleNamespace
from typing import Annotated, Any

import pytest

from checkpoints.errors import LeaseLost
from checkpoints.records import NewActivity, Position
from tests.unit.workers.conftest import Bench
from workers.authoring.graph import END, Append, Graph, Retry, State, tool
from workers.node import cursors
from workers.node.context import Context, cursor, progress
from workers.testing.harness import Harness

EITHER = Bench


class Items(State):
    n: int = 10
    topics: list[Any] = []
    got: Annotated[list[int], Append()] = []


class World:
    """What the activity does in these tests, and what it was seen to do."""

    def __init__(self) -> None:
        self.items: list[int] = []
        self.began: list[Any] = []
        self.every: int | None = 1
        self.fails_after: int | None = None
        self.cursors: Callable[[int, list[int]], Any] = lambda at, got: {"at": at, "got": got}
        self.at_item: Callable[[int], None] = lambda number: None


world = World()


@pytest.fixture(autouse=True)
def _new_world() -> None:
    world.__init__()  # type: ignore[misc]


def fetch(n: int, salt: str = "") -> list[int]:
    stand = cursor()
    world.began.append(copy.deepcopy(stand))
    got: list[int] = stand["got"] if stand else []
    for number in range(len(got) + 1, n + 1):
        world.items.append(number)
        got.append(number)
        world.at_item(number)
        cursors = world.cursors(number, got)
        progress(number, n, cursor=cursors, every=world.every)
        if world.fails_after == number:
            world.fails_after = None
            raise ConnectionError("the line is cut")
    return got


# What breaks off is left to a person here, who calls again at once.
graph = Graph("items", Items, retry=Retry(attempts=1))


@graph.node(then=END)
def work(state: Items, ctx: Context) -> dict[str, Any]:
    return {"got": ctx.activity(fetch, state.n, *state.topics)}


MODULE = SimpleNamespace(graph=graph, __name__=__name__, __file__=__file__)


@pytest.fixture
def items(make_bench: Callable[[Any], EITHER]) -> EITHER:
    return make_bench(MODULE)


@pytest.mark.requirement("B01")
def test_after_a_failure_it_goes_on_behind_the_last_item(items: EITHER) -> None:
    world.every, world.fails_after = None, 6  # nothing was due yet: the failure itself keeps it
    thread = items.start()
    assert items.advance(thread).status == "failed"
    (row,) = items.activities(thread)
    assert (row.state, row.cursor) == ("failed", {"at": 6, "got": [1, 2, 3, 4, 5, 6]})
    assert items.intact(thread)
    items.retry(thread)
    assert items.advance(thread).status == "succeeded"
    assert world.items == list(range(1, 11))
    assert world.began == [None, {"at": 6, "got": [1, 2, 3, 4, 5, 6]}]
    assert items.state(thread)["got"] == list(range(1, 11))
    (row,) = items.activities(thread)
    assert (row.state, row.attempts, row.cursor) == ("done", 2, None)
    assert items.intact(thread)


def test_a_cursor_stands_as_it_was_told(items: EITHER) -> None:
    """The list in it grows on; what was not given is not in it."""
    world.every = 100

    def at_item(number: int) -> None:
        if number == 4:
            raise ConnectionError("in the middle of an item")

    world.at_item = at_item
    thread = items.start()
    assert items.advance(thread).status == "failed"
    (row,) = items.activities(thread)
    assert row.cursor == {"at": 3, "got": [1, 2, 3]}


@pytest.mark.requirement("B01")
def test_what_was_kept_depends_on_count_and_time(
    items: EITHER, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [1000.0]
    monkeypatch.setattr(cursors, "time", SimpleNamespace(monotonic=lambda: now[0]))
    saved: list[int] = []
    world.every = 4
    ledger_class = type(items.ledger())
    keep = ledger_class.keep_cursor

    def keeping(self: Any, work: Any, activity: Any, *, cursor: bytes, **more: Any) -> None:
        saved.append(len(world.items))
        keep(self, work, activity, cursor=cursor, **more)

    monkeypatch.setattr(ledger_class, "keep_cursor", keeping)

    def at_item(number: int) -> None:
        now[0] += 1.5 if number in (10, 11) else 0.01

    world.at_item = at_item
    thread = items.start(n=20)
    assert items.advance(thread).status == "succeeded"
    # Each four items; two of them took longer than a second; and the last.
    assert saved == [4, 8, 10, 11, 15, 19, 20]
    world.items.clear()
    saved.clear()
    world.every = None
    assert items.advance(items.start(n=20)).status == "succeeded"
    assert saved == [10, 11, 20]


def test_other_arguments_get_no_cursor(items: EITHER) -> None:
    world.fails_after = 5
    thread = items.start()
    assert items.advance(thread).status == "failed"
    items.edit(thread, {"topics": ["other"]}, "ask otherwise")
    world.fails_after = 2
    items.retry(thread)
    assert items.advance(thread).status == "failed"
    assert world.began == [None, None]
    (row,) = items.activities(thread)
    assert row.cursor == {"at": 2, "got": [1, 2]}
    # Back to the first question: its cursor is gone with the place, no foreign one is given.
    items.edit(thread, {"topics": []}, "as before")
    world.every, world.fails_after = 100, None
    world.at_item = lambda number: (_ for _ in ()).throw(ConnectionError("at once"))
    items.retry(thread)
    assert items.advance(thread).status == "failed"
    assert items.activities(thread)[0].cursor is None
    world.at_item = lambda number: None
    items.retry(thread)
    assert items.advance(thread).status == "succeeded"
    assert world.began == [None, None, None, None]
    assert items.state(thread)["got"] == list(range(1, 11))


@pytest.mark.requirement("B47")
def test_a_stopping_worker_leaves_a_long_activity_in_its_middle(items: EITHER) -> None:
    world.every = 100
    stop = [False]
    items.stopping = lambda: stop[0]
    world.at_item = lambda number: stop.__setitem__(0, number == 6)
    thread = items.start()
    row = items.advance(thread)
    assert row.status == "queued"
    assert items.kinds(thread)[-1] == "thread.handed_back"
    stop[0], world.at_item = False, lambda number: None
    assert items.advance(thread).status == "succeeded"
    assert world.items == list(range(1, 11))
    assert items.row(thread).crash_count == 0


@pytest.mark.parametrize(
    ("answer", "every", "text"),
    [
        ({"at": {1, 2}}, 1, "This cursor cannot be kept"),
        ({"at": 2**60}, 1, "This cursor cannot be kept"),
        ({"at": "x" * (1 << 20)}, 1, "Keep what is large with ctx.artifact"),
        ({"at": 1}, 0, "every= takes a number of items from 1"),
        ({"at": 1}, True, "every= takes a number of items from 1"),
    ],
)
def test_what_no_cursor_can_be(items: EITHER, answer: Any, every: Any, text: str) -> None:
    world.cursors = lambda at, got: answer
    world.every = every
    thread = items.start()
    row = items.advance(thread)
    assert row.status == "failed"
    assert text in row.status_reason


def test_a_tool_keeps_no_cursor() -> None:
    @tool("mail", idempotent=True)
    def mail(*, key: str) -> str:
        progress(1, 2, cursor={"at": 1})
        return "sent"

    one = Graph("mails", Items)

    @one.node(then=END)
    def send(state: Items, ctx: Context) -> dict[str, Any]:
        ctx.effect(mail, {})
        return {}

    thread = Harness(one).play()
    assert thread.status == "failed"
    assert "A tool keeps no cursor" in thread.reason


def test_outside_of_an_activity_there_is_none() -> None:
    assert cursor() is None
    progress(cursor={"at": 1})


def test_progress_forgives_crashes_only_where_it_got_further(items: EITHER) -> None:
    thread = items.start()
    work = items.lease(thread)
    ledger = items.ledger()
    activity = NewActivity(
        id=items.agent.version_id,
        position=Position(0, 1, "work", 0, "fetch#0"),
        kind="activity",
        tool="fetch",
        args={"args": [10]},
        idempotency_key="",
    )
    ledger.keep_cursor(work, activity, cursor=b'{"at":1}', progress={"done": 1}, moved_on=True)
    ledger.keep_cursor(work, activity, cursor=b'{"at":2}')
    (row,) = items.activities(thread)
    assert (row.state, row.cursor, row.progress) == ("started", {"at": 2}, {"done": 1})
    # A worker whose lease is gone is refused, and what it said is not there.
    work.token = items.agent.version_id
    with pytest.raises(LeaseLost):
        ledger.keep_cursor(work, activity, cursor=b'{"at":3}')
    assert items.activities(thread)[0].cursor == {"at": 2}
    assert items.intact(thread)


@pytest.mark.slow
def test_lost_at_any_write_no_item_is_fetched_again() -> None:
    writes = 0
    for n in range(1, 40):
        world.items.clear()
        thread = Harness(graph, stop_after=n).play({"n": 5})
        assert thread.status == "succeeded"
        assert thread.state["got"] == [1, 2, 3, 4, 5]
        assert world.items == [1, 2, 3, 4, 5]
        writes += "lease.taken_over" in thread.kinds
    assert writes >= 6


def test_beside_a_running_loop_the_database_is_reached_in_a_thread(
    real_db: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.unit.workers.conftest import bench_of

    monkeypatch.delenv("DJANGO_ALLOW_ASYNC_UNSAFE", raising=False)
    looped = Graph("looped", Items, retry=Retry(attempts=1))

    async def afetch(n: int) -> list[int]:
        await asyncio.sleep(0)
        return fetch(n)

    @looped.node(then=END)
    def work(state: Items, ctx: Context) -> dict[str, Any]:
        return {"got": ctx.activity(afetch, state.n)}

    bench = bench_of(SimpleNamespace(graph=looped, __name__=__name__, __file__=__file__))
    world.fails_after = 3
    thread = bench.start(n=5)
    assert bench.advance(thread).status == "failed"
    bench.retry(thread)
    assert bench.advance(thread).status == "succeeded"
    assert world.items == [1, 2, 3, 4, 5]
