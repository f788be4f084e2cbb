"""Children are born and threads hand over while a verb spreads over their tree: it reaches them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any
from uuid import UUID

import pytest
from django.db import connection, connections, transaction

from checkpoints import leases, store
from checkpoints.errors import LeaseLost
from checkpoints.records import Work
from workers.engine.engine import Engine
from workers.slot import reached
from workers.step.ledger import DatabaseLedger

from .conftest import HEART, Fleet, wait_until
from .test_reach import carry_out, statuses

FILES = [f"file-{n}" for n in range(24)]
ROUNDS = 16


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as pool:
        yield pool


def work_aside(fleet: Fleet, thread: UUID) -> None:
    """Work on a thread in another thread of this process, until it stops or is taken away."""
    try:
        with suppress(LeaseLost):
            fleet.work_on(thread)
    finally:
        connections.close_all()


def order(thread: UUID, verb: str) -> None:
    """What a person wants of a thread and of all that it started."""
    act: dict[str, Callable[..., Any]] = {
        "pause": store.pause, "resume": store.resume, "cancel": store.cancel,
    }  # fmt: skip
    with transaction.atomic():
        act[verb](thread, actor="user:1")
        store.reach_children(thread, verb, actor="user:1")


@pytest.mark.slow
@pytest.mark.parametrize(("verb", "status"), [("pause", "paused"), ("cancel", "cancelled")])
def test_children_that_are_born_while_it_spreads_are_reached(
    fleet: Fleet, pool: ThreadPoolExecutor, verb: str, status: str
) -> None:
    """A worker starts children one by one; somewhere among them the order comes."""
    met = 0
    for n in range(ROUNDS):
        thread = fleet.start("lead", files=FILES)
        worker: Future[None] = pool.submit(work_aside, fleet, thread)
        wait_until(lambda t=thread, n=n: len(fleet.children(t)) > n % 8)
        order(thread, verb)
        before = len(fleet.children(thread))
        while not worker.done():
            reached.carry_out()
        worker.result()
        carry_out()
        children = fleet.children(thread)
        # Of a pause: some are born after it was asked for. Of a cancel: none any more.
        met += before < len(children) if verb == "pause" else 0 < before < len(FILES)
        assert set(statuses(fleet, [thread, *children])) == {status}
        assert len(children) == (len(FILES) if verb == "pause" else before)
    assert met >= ROUNDS // 2
    assert news() == []
    fleet.verify()


def news() -> list[tuple[Any, ...]]:
    """What has still to reach somebody."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT thread_id, ref FROM gp_wake WHERE kind = 'reach'")
        return cursor.fetchall()


class Ordered(DatabaseLedger):
    """A worker beside whom a person gives an order just before it hands over or waits."""

    def __init__(self, thread: UUID) -> None:
        super().__init__()
        self._thread = thread

    def hand_off(self, work: Work, *args: Any, **more: Any) -> None:
        order(self._thread, "pause")
        super().hand_off(work, *args, **more)

    def leave(self, work: Work, *args: Any, **more: Any) -> bool:
        order(self._thread, "pause")
        return super().leave(work, *args, **more)


def work_on(fleet: Fleet, thread: UUID, ledger: Any) -> None:
    work = leases.acquire(thread, owner="worker:test")
    assert work is not None
    Engine(fleet.agents[work.agent], ledger, HEART, lambda: False).advance(work)


def heir_of(thread: UUID) -> UUID:
    with connection.cursor() as cursor:
        cursor.execute("SELECT id FROM gp_thread WHERE base = %s", (thread,))
        ((heir,),) = cursor.fetchall()
        return UUID(str(heir))


@pytest.mark.parametrize("of", ["thread", "parent"])
def test_a_pause_goes_over_to_a_successor(fleet: Fleet, of: str) -> None:
    """It is asked for in the last step: who asked wants the work to stop, not that thread alone."""
    if of == "thread":
        giver = wanted = fleet.start("researcher", goal="tea")
    else:
        wanted = fleet.start("editor", goals=["tea"])
        fleet.work_on(wanted)
        (giver,) = fleet.children(wanted)
    work_on(fleet, giver, Ordered(wanted))
    carry_out()
    heir = heir_of(giver)
    assert statuses(fleet, [giver, heir]) == ["succeeded", "paused"]
    order(wanted if of == "parent" else heir, "resume")
    carry_out()
    fleet.work()
    assert fleet.state(heir)["text"] == "WARM: TEA GROWS, HANDED OVER"


@pytest.mark.parametrize(("verb", "status"), [("pause", "paused"), ("cancel", "cancelled")])
def test_it_reaches_the_successor_of_a_child_that_handed_over_before_it_came(
    fleet: Fleet, verb: str, status: str
) -> None:
    parent = fleet.start("editor", goals=["tea"])
    fleet.work_on(parent)
    (giver,) = fleet.children(parent)
    order(parent, verb)
    fleet.work_on(giver)  # before any sweep
    carry_out()
    assert statuses(fleet, [parent, giver, heir_of(giver)]) == [status, "succeeded", status]


def test_a_parent_that_is_about_to_wait_pauses_with_its_children(fleet: Fleet) -> None:
    parent = fleet.start("mapping", files=["a", "b"])
    work_on(fleet, parent, Ordered(parent))
    carry_out()
    assert statuses(fleet, [parent, *fleet.children(parent)]) == ["paused"] * 3
    order(parent, "resume")
    carry_out()
    fleet.work()
    assert fleet.state(parent)["texts"] == ["A", "B"]


def test_it_reaches_what_an_ended_child_has_started(fleet: Fleet) -> None:
    first = fleet.start("clerk", to="Ada", depth=2)
    fleet.work()
    (middle,) = fleet.children(first)
    (last,) = fleet.children(middle)
    store.cancel(middle, actor="user:1")
    assert statuses(fleet, [middle, last]) == ["cancelled", "waiting"]
    order(first, "cancel")
    carry_out()
    assert statuses(fleet, [first, middle, last]) == ["cancelled"] * 3


def test_a_resume_waits_for_the_pause_of_a_child_at_work(fleet: Fleet) -> None:
    parent = fleet.start("editor", goals=["tea"])
    fleet.work_on(parent)
    (child,) = fleet.children(parent)
    at_work = leases.acquire(child, owner="worker:test")
    assert at_work is not None
    order(parent, "pause")
    carry_out()
    order(parent, "resume")
    carry_out()
    assert statuses(fleet, [child]) == ["running"]
    ledger: Any = DatabaseLedger()
    Engine(fleet.agents["researcher"], ledger, HEART, lambda: False).advance(at_work)
    assert statuses(fleet, [child]) == ["paused"]
    carry_out()
    fleet.work()
    assert statuses(fleet, [parent, child]) == ["succeeded"] * 2
    assert news() == []


def test_of_verbs_that_follow_each_other_the_last_one_counts(fleet: Fleet) -> None:
    parent = fleet.start("lead", files=["a"])
    fleet.work_on(parent)
    (child,) = fleet.children(parent)
    for verb in ("pause", "resume", "pause"):
        order(parent, verb)
    carry_out()
    assert statuses(fleet, [parent, child]) == ["paused"] * 2


@pytest.mark.requirement("B36")
def test_a_limit_outlives_a_pause_of_the_tree(fleet: Fleet) -> None:
    """Whoever is held back stays so; one that may begin meanwhile begins paused."""
    files = [f"file-{n}" for n in range(6)]
    parent = fleet.start("mapping", files=files, at_most=2)
    fleet.work_on(parent)
    children = fleet.children(parent)
    at_work = leases.acquire(children[0], owner="worker:test")
    assert at_work is not None
    order(parent, "pause")
    carry_out()
    held = ["waiting"] * 4
    assert statuses(fleet, [parent, *children]) == ["paused", "running", "paused", *held]
    # The one at work was in its last step: for it the next one may begin, and does not.
    ledger: Any = DatabaseLedger()
    Engine(fleet.agents["reader"], ledger, HEART, lambda: False).advance(at_work)
    store.deliver(parent, actor="worker:test")
    assert statuses(fleet, children) == ["succeeded", "paused", "paused", *held[1:]]
    order(parent, "resume")
    carry_out()
    assert statuses(fleet, children) == ["succeeded", "queued", "queued", *held[1:]]
    while queued := [child for child in fleet.queued() if child != parent]:
        assert len(queued) <= 2
        fleet.work_on(queued[0])
        store.deliver(parent, actor="worker:test")
    fleet.work()
    assert fleet.state(parent)["texts"] == [file.upper() for file in files]
    assert news() == []
    fleet.verify()
