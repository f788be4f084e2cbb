"""`ctx.wait`: a signal wakes the wait that it is for, once, before or after it begins."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from threading import Barrier, BrokenBarrierError
from typing import Any
from uuid import UUID

import pytest

from checkpoints.errors import NotAllowedNow
from tests.unit.workers.conftest import Bench
from tests.unit.workers.graphs import waits
from workers.node.signals import Signals
from workers.step.guard import unguarded

pytestmark = pytest.mark.requirement("F10")
SETTLED = "payment.settled"


@pytest.fixture
def orders(make_bench: Callable[[Any], Bench]) -> Any:
    """The agent that waits for a payment."""
    return make_bench(waits)


def paid(orders: Any, thread: UUID) -> list[str]:
    """What the ended thread says of its signals; its log holds."""
    assert orders.row(thread).status == "succeeded", orders.row(thread).status_reason
    assert orders.intact(thread)
    notes: list[str] = orders.state(thread)["notes"]
    return notes


def test_the_wait_holds_no_worker_and_a_signal_ends_it(orders: Any) -> None:
    thread = orders.start()
    row = orders.advance(thread)
    assert row.status == "waiting"
    assert orders.signal(thread, SETTLED, {"amount": "9.50"}) > 0
    assert orders.row(thread).status == "queued"
    orders.advance(thread)
    assert paid(orders, thread) == ["paid {'amount': '9.50'} by user:1", "nothing more"]
    kinds = orders.kinds(thread)
    assert (kinds.count("signal.received"), kinds.count("signal.taken")) == (1, 1)


def test_a_signal_that_comes_first_is_kept(orders: Any) -> None:
    thread = orders.start()
    orders.signal(thread, SETTLED, 1)
    orders.advance(thread)
    assert paid(orders, thread) == ["paid 1 by user:1", "nothing more"]


def test_each_wait_takes_one_signal_the_oldest_first(orders: Any) -> None:
    thread = orders.start()
    orders.signal(thread, SETTLED, "first")
    orders.signal(thread, SETTLED, "second")
    orders.advance(thread)
    assert paid(orders, thread) == ["paid 'first' by user:1", "more 'second'"]


def test_a_signal_of_another_name_wakes_nobody(orders: Any) -> None:
    thread = orders.start()
    orders.advance(thread)
    orders.signal(thread, "payment.failed", 1)
    assert orders.row(thread).status == "waiting"
    orders.signal(thread, SETTLED, 2)
    orders.advance(thread)
    assert paid(orders, thread) == ["paid 2 by user:1", "nothing more"]


def test_a_time_out_is_a_value(orders: Any) -> None:
    thread = orders.start(seconds=0.05)
    assert orders.advance(thread).status == "waiting"
    orders.pass_time(0.1)
    orders.deliver_due(thread)
    assert orders.row(thread).status == "queued"
    orders.signal(thread, SETTLED, "late")  # before a worker has taken the thread
    orders.advance(thread)
    assert paid(orders, thread)[0] == "paid 'late' by user:1"


def test_a_wait_whose_time_is_over_takes_no_later_signal(orders: Any) -> None:
    thread = orders.start(seconds=0)
    orders.advance(thread)
    assert paid(orders, thread) == ["too late", "nothing more"]
    with pytest.raises(NotAllowedNow, match="while the thread is succeeded"):
        orders.signal(thread, SETTLED, 1)


def test_what_does_not_fit_the_schema_is_refused_and_the_next_is_taken(orders: Any) -> None:
    thread = orders.start(form={"type": "object", "required": ["amount"]})
    orders.signal(thread, SETTLED, {"sum": 1})
    assert orders.advance(thread).status == "waiting"
    (refused,) = [e for e in orders.events(thread) if e.kind == "signal.refused"]
    assert "'amount' is a required property" in refused.data["why"]
    orders.signal(thread, SETTLED, {"amount": 2})
    orders.advance(thread)
    assert paid(orders, thread) == ["paid {'amount': 2} by user:1", "nothing more"]


@pytest.mark.parametrize("first", ["signal", "answer"])
def test_a_question_beside_the_wait_is_asked_meanwhile(orders: Any, first: str) -> None:
    thread = orders.start(beside="ask")
    assert orders.advance(thread).status == "waiting"
    if first == "signal":
        orders.signal(thread, SETTLED, 1)
        assert orders.advance(thread).status == "waiting"
        orders.decide(thread, "respond", args="Ada")
    else:
        orders.decide(thread, "respond", args="Ada")
        assert orders.advance(thread).status == "waiting"
        orders.signal(thread, SETTLED, 1)
    orders.advance(thread)
    assert sorted(paid(orders, thread)) == ["answered Ada", "nothing more", "paid 1 by user:1"]


def test_a_sleep_beside_the_wait_does_not_hide_the_signal(orders: Any) -> None:
    thread = orders.start(beside="sleep")
    assert orders.advance(thread).status == "waiting"
    orders.signal(thread, SETTLED, 1)
    orders.advance(thread)
    assert orders.kinds(thread).count("signal.taken") == 1
    assert orders.row(thread).status == "sleeping"


def test_a_signal_that_comes_while_the_thread_is_left_is_not_missed(
    orders: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the look for signals and the leave; the thread would wait for what is there."""
    thread = orders.start()
    chosen, sent = Signals._chosen, []

    def look(node: Signals, rows: Any, *more: Any) -> Any:
        if not sent:
            with unguarded():
                sent.append(orders.signal(thread, SETTLED, 1))
        return chosen(node, rows, *more)

    monkeypatch.setattr(Signals, "_chosen", look)
    orders.advance(thread)
    assert paid(orders, thread) == ["paid 1 by user:1", "nothing more"]


def test_of_two_waits_at_the_same_time_each_takes_a_signal_of_its_own(
    orders: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both have read the same signals before either has recorded what it took."""
    both = Barrier(2)
    chosen = Signals._chosen

    def look(node: Signals, rows: Any, *more: Any) -> Any:
        if rows:
            with suppress(BrokenBarrierError):
                both.wait(5)
        return chosen(node, rows, *more)

    thread = orders.start(beside="wait")
    orders.signal(thread, SETTLED, "first")
    monkeypatch.setattr(Signals, "_chosen", look)
    assert orders.advance(thread).status == "waiting"
    assert orders.kinds(thread).count("signal.taken") == 1
    orders.signal(thread, SETTLED, "second")
    both.abort()
    orders.advance(thread)
    taken = sorted(note.partition(" by ")[0] for note in paid(orders, thread)[:2])
    assert taken == ["paid 'first'", "paid 'second'"]


def test_a_signal_behind_many_of_other_names_is_found(orders: Any) -> None:
    thread = orders.start()
    for n in range(120):
        orders.signal(thread, f"other.{n}", n)
    orders.signal(thread, SETTLED, 1)
    orders.advance(thread)
    assert paid(orders, thread) == ["paid 1 by user:1", "nothing more"]
