"""Attempts and their budget on both ledgers: the same log, the same rows, the same end."""

from __future__ import annotations

import urllib.error
from collections.abc import Callable
from email.message import Message
from typing import Any

import pytest

from checkpoints.states import EventKind, Status
from tests.unit.workers.conftest import Bench, bench_of
from tests.unit.workers.graphs import failing
from tests.unit.workers.graphs.failing import script
from workers import shared_page
from workers.authoring.retry_policy import RetryLater

AnyBench = Bench


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is heard here of services that want to be left in peace stays here."""
    monkeypatch.setattr(shared_page, "_page", bytearray(8192))


@pytest.fixture
def bench(make_bench: Callable[[Any], AnyBench]) -> AnyBench:
    script.next, script.calls = [], []
    return make_bench(failing)


def refusal(status: int = 503, **headers: str) -> urllib.error.HTTPError:
    message = Message()
    for name, value in headers.items():
        message[name.replace("_", "-")] = value
    return urllib.error.HTTPError("http://here/", status, "no", message, None)


def work(bench: AnyBench, thread: Any) -> Any:
    """Until it neither sleeps nor is queued."""
    for _ in range(30):
        status = bench.row(thread).status
        if status is Status.QUEUED:
            bench.advance(thread)
        elif status is Status.SLEEPING:
            bench.pass_time(0.01)
            bench.wake_sleepers()
        else:
            break
    return bench.row(thread)


def test_each_kind_of_call_is_tried_again(bench: AnyBench) -> None:
    script.next = [
        *(TimeoutError(), "tea"),  # look_up
        *(TimeoutError(), refusal(), "sent"),  # send
        *(ConnectionRefusedError(), "shouted"),  # shout
        *(TimeoutError(), "yes"),  # model
    ]
    thread = bench.start()
    assert work(bench, thread).status is Status.SUCCEEDED
    assert bench.state(thread) == {"found": "tea", "sent": "sent", "said": "yes"}
    attempts = {a.tool: a.attempts for a in bench.activities(thread)}
    assert attempts == {"look_up": 2, "send": 3, "shout": 2, "model": 2}
    failed = [e for e in bench.events(thread) if e.kind.endswith(".failed")]
    assert [e.kind for e in failed] == ["activity.failed", *["effect.failed"] * 3, failed[-1].kind]
    assert all(e.data["retry_in"] >= 0 for e in failed)
    assert bench.intact(thread)


def test_the_budget_is_that_of_the_nearest_and_a_click_renews_it(bench: AnyBench) -> None:
    script.next = [TimeoutError()] * 4  # look_up may be called three times, by its graph
    thread = bench.start()
    row = work(bench, thread)
    assert row.status is Status.FAILED
    assert "(after 3 attempts)" in row.status_reason
    assert len(script.calls) == 3
    bench.retry(thread)
    assert work(bench, thread).status is Status.SUCCEEDED
    assert script.calls.count("look_up") == 5

    script.next = ["tea", "sent", *[ConnectionRefusedError()] * 3]  # shout has its own: two
    other = bench.start()
    assert work(bench, other).status is Status.FAILED
    assert "(after 2 attempts)" in bench.row(other).status_reason
    bench.retry(other)
    assert work(bench, other).status is Status.SUCCEEDED
    (shouted,) = [a for a in bench.activities(other) if a.tool == "shout"]
    assert (shouted.state, shouted.attempts) == ("done", 4)


def test_what_may_have_happened_waits_for_a_person(bench: AnyBench) -> None:
    script.next = ["tea", "sent", TimeoutError("no answer")]
    thread = bench.start()
    row = work(bench, thread)
    assert row.status is Status.ATTENTION
    assert "Whether 'shout' happened is unknown" in row.status_reason
    (shouted,) = [a for a in bench.activities(thread) if a.tool == "shout"]
    assert (shouted.state, shouted.attempts) == ("unknown", 1)
    assert script.calls.count("shout") == 1
    assert bench.intact(thread)


def test_sleeping_says_why_and_until_when(bench: AnyBench) -> None:
    script.next = [refusal(429, Retry_After="3600")]
    thread = bench.start()
    bench.advance(thread)
    row = bench.row(thread)
    assert row.status is Status.SLEEPING
    assert row.status_reason == "look_up answered 429; attempt 2 of 3"
    assert row.wake_at is not None
    assert 3599 < (row.wake_at - row.status_since).total_seconds() <= 3601
    (slept,) = [e for e in bench.events(thread) if e.kind == EventKind.THREAD_SLEPT]
    assert slept.data["reason"] == row.status_reason


def test_others_leave_in_peace_what_wants_to_be_left(bench: AnyBench) -> None:
    script.next = [RetryLater(3600, "Shut until noon.")]
    first, second = bench.start(), bench.start()
    bench.advance(first)
    assert bench.row(first).status_reason == "look_up said: Shut until noon; attempt 2 of 3"
    bench.advance(second)
    row = bench.row(second)
    assert row.status is Status.SLEEPING
    assert row.status_reason == "look_up said: Shut until noon; waits with all others"
    assert row.wake_at is not None
    assert (row.wake_at - row.status_since).total_seconds() > 3500
    assert script.calls == ["look_up"]
    assert bench.activities(second) == []


def test_a_shorter_wait_does_not_end_a_longer_one(bench: AnyBench) -> None:
    ledger, work_ = bench.ledger(), bench.lease(bench.start())
    assert ledger.held_off(work_, "shop") is None
    for seconds, message in ((100, "long"), (10, "short"), (200, "longest")):
        ledger.hold_off(work_, "shop", seconds=seconds, text=message)
        result = ledger.held_off(work_, "shop")
        assert result is not None
        left, payload = result
        assert 90 < left <= max(seconds, 100)
        assert payload == ("long" if seconds == 10 else message)
    assert ledger.held_off(work_, "other") is None
    ledger.hold_off(work_, "brief", seconds=0.0, text="now")
    assert ledger.held_off(work_, "brief") is None


def test_a_call_on_a_quiet_day_asks_nobody(db: None, django_assert_num_queries: Any) -> None:
    bench = bench_of(failing)
    ledger, work_ = bench.ledger(), bench.lease(bench.start())
    with django_assert_num_queries(0):
        assert ledger.held_off(work_, "shop") is None
    shared_page.holding_off(5)
    with django_assert_num_queries(1):
        assert ledger.held_off(work_, "shop") is None
