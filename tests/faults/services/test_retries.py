"""Services that refuse, hang and come back, in front of a real worker."""

from __future__ import annotations

import os
import shutil
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from checkpoints import queries, store
from dashboard.wording.why import why_waiting
from tests.faults.bench import AGENTS, Case, Field, Worker, wait_until, workers

from .service import serving

pytestmark = pytest.mark.hazard
LONG = 60


@pytest.fixture(scope="module")
def limits(ground: Path) -> Iterator[Worker]:
    """A worker for the agents that call a service: two slots."""
    shutil.copy(AGENTS / "limit_agents.py", ground)
    environment = {"GATEPOST_AGENTS": "limit_agents"}
    made = Worker(ground, "retries", slots=2, queues="limits", environment=environment)
    with workers(made) as (worker,):
        yield worker


def reasons(case: Case) -> list[str]:
    return [e.data["reason"] for e in case.events() if e.kind == "thread.slept"]


@pytest.mark.requirement("B04")
def test_a_503_after_much_work_costs_the_one_call(field: Field, limits: Worker) -> None:
    with serving(lambda n, at: (503 if n <= 2 else 200, {}, 0.0)) as service:
        case = field.start("caller", url=service.url)
        case.wait_status("succeeded", seconds=LONG)
    assert [status for _, status in service.answers] == [503, 503, 200]
    # Neither the steps before nor what the step had done already happened again.
    assert [len(case.calls(name)) for name in ("before", "beside", "after")] == [1, 1, 1]
    assert case.state()["answer"] == "served"
    assert reasons(case) == [
        "fetch answered 503; attempt 2 of 5",
        "fetch answered 503; attempt 3 of 5",
    ]
    failed = [e.data for e in case.events() if e.kind == "activity.failed"]
    assert [d.get("attempt", 1) for d in failed] == [1, 2]
    assert all(d["retry_in"] > 0 for d in failed)


@pytest.mark.requirement("A03")
def test_a_sleeping_attempt_holds_nothing_and_outlives_its_worker(
    field: Field, limits: Worker
) -> None:
    hint = {"Retry-After": "4"}
    with serving(lambda n, at: (429 if n == 1 else 200, hint, 0.0)) as service:
        case = field.start("asker", url=service.url)
        row = case.wait_status("sleeping", seconds=LONG)
        for slot in limits.slots():
            os.kill(slot, signal.SIGKILL)  # and nobody misses them
        assert row.lease_owner == ""
        assert row.status_reason == "model answered 429; attempt 2 of 5"
        assert row.wake_at is not None
        why = why_waiting(row)
        assert why is not None
        assert why.kind == "timer"
        assert why.sentence == (
            f"model answered 429; attempt 2 of 5 at {row.wake_at:%Y-%m-%d %H:%M:%S} UTC."
        )
        request = (row.wake_at - row.status_since).total_seconds()  # both by the database's clock
        assert 4 <= request <= 4 + 0.3
        case.wait_status("succeeded", seconds=LONG)
    ((refused, first), (called, second)) = service.answers
    assert (first, second) == (429, 200)
    assert called - refused >= 4
    assert case.state()["said"] == "served"
    assert case.row().tokens == 12
    assert len(case.calls("beside")) == 1
    assert case.row().crash_count == 0


@pytest.mark.requirement("A03")
def test_an_answer_that_does_not_come_is_asked_for_again(field: Field, limits: Worker) -> None:
    with serving(lambda n, at: (200, {}, 6.0 if n == 1 else 0.0)) as service:
        case = field.start("caller", url=service.url, timeout=2.0)
        case.wait_status("succeeded", seconds=LONG)
    assert len(service.answers) == 2
    assert reasons(case) == ["fetch timed out; attempt 2 of 5"]


@pytest.mark.requirement("A04")
def test_a_service_that_stays_down_fails_the_step_until_a_click(
    field: Field, limits: Worker
) -> None:
    with serving(lambda n, at: (503 if n <= 3 else 200, {}, 0.0)) as service:
        case = field.start("caller", url=service.url, attempts=3, first=0.05)
        row = case.wait_status("failed", seconds=LONG)
        assert row.status_reason.startswith("call: raised HTTPError: HTTP Error 503")
        assert "(after 3 attempts)" in row.status_reason
        assert (row.step, row.next_nodes) == (1, ("call",))
        failed = [e for e in case.events() if e.kind == "step.failed"]
        assert [(e.data["node"], e.data["step"]) for e in failed] == [("call", 2)]
        assert service.count(503) == 3

        store.retry(case.id, actor="user:1")
        case.wait_status("succeeded", seconds=LONG)
    assert (service.count(503), service.count(200)) == (3, 1)
    assert [len(case.calls(name)) for name in ("before", "beside", "after")] == [1, 1, 1]
    (call,) = [a for a in queries.activities(case.id) if a.tool == "fetch"]
    assert (call.state, call.attempts) == ("done", 4)


def test_a_click_gives_as_many_attempts_again(field: Field, limits: Worker) -> None:
    with serving(lambda n, at: (503 if n <= 5 else 200, {}, 0.0)) as service:
        case = field.start("caller", url=service.url, attempts=3, first=0.05)
        case.wait_status("failed", seconds=LONG)
        store.retry(case.id, actor="user:1")
        wait_until(lambda: len(service.answers) >= 6, seconds=LONG, what=case.summary)
        wait_until(lambda: case.row().status == "succeeded", seconds=LONG, what=case.summary)
    assert (service.count(503), service.count(200)) == (5, 1)
    assert reasons(case) == [f"fetch answered 503; attempt {n} of 3" for n in (2, 3, 2, 3)]


def test_a_storm_backs_off_together(field: Field, limits: Worker) -> None:
    """Forty threads want a service that refuses all of them until each has come to know it."""
    threads, open_again = 40, threading.Event()

    def crowded(number: int, at: float) -> tuple[int, dict[str, str], float]:
        return (200, {}, 0.0) if open_again.is_set() else (429, {"Retry-After": "2"}, 0.0)

    with serving(crowded) as service:
        cases = [field.start("caller", url=service.url, attempts=100) for _ in range(threads)]
        for case in cases:
            case.wait_event("thread.slept", seconds=LONG)
        refused = service.count(429)
        open_again.set()
        for case in cases:
            case.wait_status("succeeded", seconds=3 * LONG)
    assert service.count(200) == threads
    # Each two seconds the slots may ask once; alone, each thread would have asked for itself.
    assert 1 <= refused <= service.count(429) <= threads // 2, service.answers
    waited = [case for case in cases if any("all others" in r for r in reasons(case))]
    assert len(waited) >= threads - service.count(429)
    assert all(len(case.calls("beside")) == 1 for case in cases)
    # Who waited with the others spent none of its attempts.
    for case in waited:
        (call,) = [a for a in queries.activities(case.id) if a.tool == "fetch"]
        failed = case.kinds().count("activity.failed")
        assert call.attempts == failed + 1
