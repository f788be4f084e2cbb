"""What going on from the record spares is counted once per fault, and from the record alone."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from checkpoints import leases, queries, store
from checkpoints.chain import verify_thread
from checkpoints.queries import savings
from checkpoints.queries.installation import figures
from checkpoints.records import Work
from checkpoints.states import EventKind, Status
from checkpoints.views import SavedRow
from tests.unit.checkpoints.builders import (
    OPERATOR,
    Driver,
    acquired,
    bring_to,
    drive,
    effect,
    expire,
    make_thread,
    make_workspace,
    new_activity,
    one,
    rows,
)

pytestmark = [pytest.mark.django_db, pytest.mark.requirement("A36")]


@pytest.fixture(autouse=True)
def short_lease(settings: Any) -> None:
    settings.GATEPOST_LEASE_SECONDS = 0.001  # PostgreSQL has been up for so long


def ask_model(work: Work, key: str, tokens: int, cost: str = "0.01", **more: Any) -> None:
    """A model call that took a second."""
    call = new_activity(work, key, kind="model", **more)
    usage = {"model": "m", "tokens": tokens, "cost": cost, "milliseconds": 1000}
    store.record_activity(work, call, result="said", usage=usage)


def taken_over(thread: UUID) -> Work:
    expire(thread)
    work = leases.take_over(thread, owner="worker:2")
    assert work is not None
    return work


def saved(thread: UUID) -> SavedRow:
    workspace: UUID = one("SELECT workspace_id FROM gp_thread WHERE id = %s::uuid", (thread,))
    result = queries.saved(queries.thread(thread, workspace=workspace))
    tokens = one("SELECT tokens_saved FROM gp_thread WHERE id = %s::uuid", (thread,))
    assert tokens == result.tokens
    assert verify_thread(thread).intact
    return result


def test_a_takeover_counts_all_that_is_recorded_up_to_then() -> None:
    thread = make_thread()
    driver = drive(thread)
    ask_model(driver.work, "model#0", 100)
    store.record_activity(driver.work, new_activity(driver.work, "look#0"), result=1)
    driver.step()
    effect(driver.work, "send#0")
    ask_model(driver.work, "model#1", 40, "0.005")  # of the step in progress
    failed = new_activity(driver.work, "look#1")
    store.record_activity(driver.work, failed, error="no answer")
    effect(driver.work, "send#1", state="started")
    taken_over(thread)
    result = saved(thread)
    assert (result.resumes, result.calls, result.model_calls) == (1, 4, 2)
    assert (result.tokens, result.cost) == (140, "0.015")
    assert result.milliseconds >= 2000
    assert rows(
        "SELECT data -> 'saved' ->> 'tokens' FROM gp_event WHERE thread_id = %s::uuid "
        "AND kind = 'lease.taken_over'",
        (thread,),
    ) == [("140",)]


def test_each_fault_counts_since_a_restart_would_do_all_again_each_time() -> None:
    thread = make_thread()
    driver = drive(thread)
    ask_model(driver.work, "model#0", 100)
    driver.step()
    driver = Driver(taken_over(thread))
    ask_model(driver.work, "model#0", 10)
    driver.step()
    store.leave(driver.work, EventKind.THREAD_FAILED, reason="broken")
    store.retry(thread, actor=OPERATOR)
    assert saved(thread) == SavedRow(2, 3, 3, 210, "0.03", 3000)
    assert queries.fleet_saved(
        workspace=one("SELECT workspace_id FROM gp_thread WHERE id = %s::uuid", (thread,))
    ) == saved(thread)


def test_a_fault_before_anything_is_recorded_saves_nothing() -> None:
    thread = make_thread()
    drive(thread)
    taken_over(thread)
    assert saved(thread) == SavedRow(0, 0, 0, 0, "0", 0)


@pytest.mark.parametrize(
    "status", [Status.WAITING, Status.SLEEPING, Status.PAUSED, Status.QUEUED, Status.ATTENTION]
)
def test_what_is_no_fault_counts_nothing(status: Status) -> None:
    thread = make_thread()
    driver = drive(thread)
    ask_model(driver.work, "model#0", 100)
    driver.step()
    store.hand_back(driver.work, reason="the time slice is over")
    bring_to(thread, status)
    if status is Status.ATTENTION:
        store.retry(thread, actor=OPERATOR)  # other code, an unknown outcome: nobody was lost
    elif status is Status.PAUSED:
        store.resume(thread, actor=OPERATOR)
    elif status is Status.SLEEPING:
        rows("UPDATE gp_thread SET wake_at = clock_timestamp() WHERE id = %s::uuid", (thread,))
        store.wake_sleepers(owner="worker:1")
    assert saved(thread).resumes == 0
    if status is not Status.WAITING:
        acquired(thread)
        assert saved(thread).resumes == 0


def test_a_retry_after_the_third_crash_counts() -> None:
    thread = make_thread()
    driver = drive(thread)
    ask_model(driver.work, "model#0", 100)
    for _ in range(2):
        taken_over(thread)
    expire(thread)
    assert store.park_crash_loops(owner="worker:1") == 1
    store.retry(thread, actor=OPERATOR)
    assert (saved(thread).resumes, saved(thread).tokens) == (3, 300)


def test_what_a_rollback_abandoned_would_not_be_done_again() -> None:
    thread = make_thread()
    driver = drive(thread)
    ask_model(driver.work, "model#0", 100)
    target = driver.step()
    ask_model(driver.work, "model#0", 1000)
    driver.step()
    store.roll_back(
        thread, checkpoint=target, undo=(), reason="r", actor=OPERATOR, head=driver.work.head
    )
    Driver(acquired(thread)).finish_rollback(run_on=True)
    ask_model(acquired(thread), "model#0", 7)
    taken_over(thread)
    assert (saved(thread).calls, saved(thread).tokens) == (2, 107)


def test_the_newest_answer_of_a_place_counts_and_what_another_thread_paid_does_not() -> None:
    thread = make_thread()
    work = acquired(thread)
    ask_model(work, "model#0", 100)
    ask_model(work, "model#0", 30, revision=1, args={"to": "other"})
    reused = new_activity(work, "model#1", kind="model")
    usage = {"tokens": 500, "cost": "1", "reused_from": "elsewhere"}
    store.record_activity(work, reused, result="said", usage=usage)
    taken_over(thread)
    assert saved(thread).tokens == 30


def test_a_thread_that_is_worked_on_is_not_looked_through(settings: Any) -> None:
    settings.GATEPOST_LEASE_SECONDS = 60.0
    thread = make_thread()
    ask_model(acquired(thread), "model#0", 100)
    assert savings.work_before_takeover(thread) is None
    assert leases.take_over(thread, owner="worker:2") is None
    assert saved(thread).resumes == 0


def test_a_fleet_is_its_workspace() -> None:
    places = [make_workspace(), make_workspace()]
    for workspace, faults in zip(places, (1, 2), strict=True):
        for _ in range(faults):
            thread = make_thread(workspace=workspace)
            ask_model(acquired(thread), "model#0", 10)
            taken_over(thread)
    assert [queries.fleet_saved(workspace=workspace).tokens for workspace in places] == [10, 20]


def test_lists_that_are_repeated_agree() -> None:
    text = one("SELECT pg_get_indexdef('gp_event_rare'::regclass)")
    kinds = {*savings.RESUMING, *figures.FAULTS}
    assert all(f"'{kind}'" in text for kind in kinds)
    assert text.count("'") == 2 * len(kinds)


def test_the_index_answers_both_readers() -> None:
    thread = make_thread()
    workspace = one("SELECT workspace_id FROM gp_thread WHERE id = %s::uuid", (thread,))
    rows("SET LOCAL enable_seqscan = off")
    rows("SET LOCAL enable_sort = off")
    query = {"workspace": workspace, "thread": thread, "newest": 10}
    for text in (savings.SQL.saved_of_thread, savings.SQL.saved_of_workspace):
        plan = "\n".join(r[0] for r in rows(f"EXPLAIN {text}", query))
        assert plan.count("gp_event_rare") == 2
        assert "-> Sort" not in " ".join(plan.split())
        assert plan.count("Index Scan Backward") == 2
