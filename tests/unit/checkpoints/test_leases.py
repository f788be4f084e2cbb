"""The right to work on a thread: one holder, taken over when it falls silent, never for ever."""

from __future__ import annotations

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from django.db import connection
from uuid_utils.compat import uuid7

from checkpoints import leases, queries, store
from checkpoints.chain import verify_thread
from checkpoints.errors import LeaseLost, NotAllowedNow, StaleVersion
from checkpoints.records import NewActivity, Position
from checkpoints.states import EventKind, Status
from checkpoints.store import NewEvent
from tests.faults.bench import wait_until

from .builders import (
    OPERATOR,
    Driver,
    acquired,
    bring_to,
    drive,
    expire,
    head_of,
    kinds_of,
    make_agent,
    make_thread,
    make_workspace,
    one,
    rows,
    status_of,
)


def crashes(thread: UUID) -> int:
    row: int = one("SELECT crash_count FROM gp_thread WHERE id = %s::uuid", (thread,))
    return row


# --- taking ----------------------------------------------------------------------------------


@pytest.mark.django_db
@pytest.mark.requirement("C29")
def test_a_lease_is_had_once() -> None:
    thread = make_thread()
    work = leases.acquire(thread, owner="worker:1")
    assert work is not None
    assert (work.status, work.fence, work.owner, work.crash_count) == (
        Status.RUNNING,
        1,
        "worker:1",
        0,
    )
    assert leases.acquire(thread, owner="worker:2") is None
    assert leases.acquire(thread, owner="worker:1") is None
    assert leases.take_over(thread, owner="worker:2") is None
    assert leases.acquire(uuid4(), owner="worker:1") is None
    row = queries.thread(thread, workspace=work.workspace)
    assert (row.lease_owner, row.fence, row.status) == ("worker:1", 1, Status.RUNNING)
    assert row.lease_until is not None
    assert kinds_of(thread) == ["thread.started", "lease.acquired"]


@pytest.mark.django_db
def test_each_lease_has_a_token_and_a_fence_of_its_own() -> None:
    thread = make_thread()
    seen = set()
    for fence in range(1, 5):
        work = acquired(thread)
        assert work.fence == fence
        seen.add(work.token)
        store.hand_back(work, reason="time slice")
        assert crashes(thread) == 0
        [row] = rows("SELECT status, lease_owner, lease_token, lease_until FROM gp_thread")
        assert row == ("queued", "", None, None)
    assert len(seen) == 4


@pytest.mark.django_db
def test_work_carries_all_that_a_step_needs() -> None:
    thread = make_thread(pause_at="publish", effects="ask", title="Count")
    first = drive(thread, 2)
    store.pause(thread, actor=OPERATOR)
    store.wake(thread, event=NewEvent(EventKind.APPROVAL_DECIDED, {}, OPERATOR))
    store.hand_back(first.work, reason="")
    work = acquired(thread, owner="worker:2")
    [row] = rows(
        "SELECT workspace_id, agent, agent_version_id, title, head, number, step, branch, "
        "branch_start, version, last_seq, wake_seq, wish, wish_by, pause_at, effects, chain_id, "
        "crash_count, started_by, fence, lease_token FROM gp_thread"
    )
    assert row == (
        work.workspace, work.agent, work.agent_version, work.title, work.head, work.number,
        work.step, work.branch, work.branch_start, work.version, work.last_seq, work.wake_seq,
        work.wish, work.wish_by, work.pause_at, work.effects, work.chain_id, work.crash_count,
        work.started_by, work.fence, work.token,
    )  # fmt: skip
    assert (work.wish, work.wish_by, work.wake_seq, work.number) == ("pause", OPERATOR, 1, 2)
    assert (work.next_nodes, work.rollback) == (("work",), None)


@pytest.mark.django_db
@pytest.mark.parametrize("status", sorted(set(Status) - {Status.QUEUED, Status.ROLLING_BACK}))
def test_only_queued_threads_and_open_rollbacks_are_taken(status: Status) -> None:
    thread = make_thread()
    bring_to(thread, status)
    before = one("SELECT x::text FROM gp_thread x")
    assert leases.acquire(thread, owner="worker:2") is None
    assert one("SELECT x::text FROM gp_thread x") == before


@pytest.mark.django_db
def test_a_rollback_is_taken_once_and_given_back_as_such() -> None:
    thread = make_thread()
    former = bring_to(thread, Status.ROLLING_BACK)
    assert former is not None
    with pytest.raises(LeaseLost):
        Driver(former).step()
    work = acquired(thread)
    assert work.status is Status.ROLLING_BACK
    assert work.rollback is not None
    assert work.rollback["number"] == 0
    assert leases.acquire(thread, owner="worker:2") is None
    store.hand_back(work, reason="worker stops")
    assert status_of(thread) is Status.ROLLING_BACK
    assert store.stranded_threads(queued_for_seconds=60) == [(thread, "gatepost")]
    acquired(thread)
    assert store.stranded_threads(queued_for_seconds=60) == []


@pytest.mark.requirement("C29")
def test_of_many_at_once_exactly_one_gets_the_lease(real_db: str) -> None:
    won: dict[UUID, list[str]] = {make_thread(): [] for _ in range(40)}
    start = threading.Barrier(4)

    def work(name: str) -> None:
        for thread, winners in won.items():
            start.wait()
            if leases.acquire(thread, owner=name):
                winners.append(name)
        connection.close()

    workers = [threading.Thread(target=work, args=(f"worker:{n}",)) for n in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [len(winners) for winners in won.values()] == [1] * 40
    assert len({name for winners in won.values() for name in winners}) > 1  # it was a race
    for thread, [winner] in won.items():
        [row] = rows("SELECT lease_owner, fence FROM gp_thread WHERE id = %s::uuid", (thread,))
        assert row == (winner, 1)
        assert kinds_of(thread) == ["thread.started", "lease.acquired"]


# --- keeping and losing ----------------------------------------------------------------------


@pytest.mark.requirement("C30")
def test_a_silent_holder_loses_its_lease_to_another(real_db: str, settings: Any) -> None:
    settings.GATEPOST_LEASE_SECONDS = 5.0
    thread = make_thread()
    driver = drive(thread, 1)
    assert leases.take_over(thread, owner="worker:2") is None  # not yet
    left = "SELECT extract(epoch FROM lease_until - clock_timestamp())::float FROM gp_thread"
    rows("UPDATE gp_thread SET lease_until = lease_until - interval '3 seconds'")
    before = one(left)
    assert leases.renew(thread, token=driver.work.token)
    assert before < 3.0 < one(left)
    assert leases.take_over(thread, owner="worker:2") is None
    expire(thread)
    work = wait_until(lambda: leases.take_over(thread, owner="worker:2"), what="the other")
    assert work is not None
    assert (work.crash_count, work.fence, work.owner) == (1, 2, "worker:2")
    assert work.token != driver.work.token
    with pytest.raises(LeaseLost):
        driver.step()
    assert not leases.renew(thread, token=driver.work.token)
    Driver(work).step()
    assert kinds_of(thread)[-2:] == ["lease.taken_over", "checkpoint.committed"]
    assert history_of(thread) == [1, 2]
    assert verify_thread(thread).intact


def history_of(thread: UUID) -> list[int]:
    log: list[int] = queries.state_at(thread, head_of(thread))["log"]
    return log


@pytest.mark.django_db
@pytest.mark.requirement("C30")
def test_nobody_takes_over_until_postgresql_has_been_up_for_one_lease(settings: Any) -> None:
    thread = make_thread()
    acquired(thread)
    expire(thread)
    up = one("SELECT extract(epoch FROM clock_timestamp() - pg_postmaster_start_time())::float")
    settings.GATEPOST_LEASE_SECONDS = up + 60
    assert leases.take_over(thread, owner="worker:2") is None
    rows("UPDATE gp_thread SET crash_count = 2 WHERE id = %s::uuid", (thread,))
    assert store.park_crash_loops(owner="sweep") == 0
    rows("UPDATE gp_thread SET crash_count = 0 WHERE id = %s::uuid", (thread,))
    settings.GATEPOST_LEASE_SECONDS = up / 2
    assert leases.take_over(thread, owner="worker:2") is not None


@pytest.mark.django_db
def test_a_renewal_leaves_nothing_behind_but_the_time() -> None:
    thread = make_thread()
    work = acquired(thread)
    rest = "SELECT (to_jsonb(x) - 'lease_until')::text FROM gp_thread x"
    before, until = one(rest), one("SELECT lease_until FROM gp_thread")
    assert leases.renew(thread, token=work.token)
    assert one(rest) == before
    assert one("SELECT lease_until FROM gp_thread") > until
    assert not leases.renew(thread, token=uuid4())
    assert not leases.renew(uuid4(), token=work.token)
    assert kinds_of(thread) == ["thread.started", "lease.acquired"]


# --- crash loops ------------------------------------------------------------------------------


@pytest.mark.django_db
@pytest.mark.parametrize("status", [Status.RUNNING, Status.ROLLING_BACK])
def test_the_third_crash_in_a_row_stops_the_thread(status: Status, settings: Any) -> None:
    settings.GATEPOST_LEASE_SECONDS = 0.001
    thread = make_thread()
    bring_to(thread, status)
    if status is Status.ROLLING_BACK:
        acquired(thread)
    for crash in (1, 2):
        expire(thread)
        assert store.stranded_threads(queued_for_seconds=60) == [(thread, "gatepost")]
        assert store.park_crash_loops(owner="sweep") == 0
        work = leases.take_over(thread, owner="worker:2")
        assert work is not None
        assert work.crash_count == crash
    expire(thread)
    assert leases.take_over(thread, owner="worker:2") is None
    assert store.stranded_threads(queued_for_seconds=60) == []
    assert status_of(thread) is status
    assert store.park_crash_loops(owner="sweep") == 1
    assert store.park_crash_loops(owner="sweep") == 0
    [row] = rows(
        "SELECT status, crash_count, lease_token, lease_owner, status_reason FROM gp_thread"
    )
    assert row[:4] == ("attention", 3, None, "")
    assert "3 times" in row[4]
    assert kinds_of(thread)[-1] == "thread.parked"
    # A rollback is not over because its workers were lost: it goes on undoing.
    on = Status.QUEUED if status is Status.RUNNING else Status.ROLLING_BACK
    assert store.retry(thread, actor=OPERATOR) is on
    assert (status_of(thread), crashes(thread)) == (on, 0)


@pytest.mark.django_db
def test_progress_forgives_crashes(settings: Any) -> None:
    settings.GATEPOST_LEASE_SECONDS = 0.001
    thread = make_thread()
    acquired(thread)
    numbers = iter(range(100))

    def activity() -> NewActivity:
        return NewActivity(
            id=uuid7(),
            position=Position(0, 1, "work", 0, f"load#{next(numbers)}"),
            kind="activity",
            tool="load",
            args={},
            idempotency_key="k",
        )

    def step(driver: Driver) -> None:
        driver.step()

    def recorded(driver: Driver) -> None:
        store.record_activity(driver.work, activity(), result=1)

    def effect(driver: Driver) -> None:
        started = activity()
        store.start_activity(driver.work, started)
        assert crashes(thread) == 2  # that it began is no progress
        store.finish_activity(driver.work, started, state="done", result=1)

    for progress in (step, recorded, effect):
        for _ in range(2):
            expire(thread)
            work = leases.take_over(thread, owner="worker:2")
            assert work is not None
        assert work.crash_count == 2
        store.record(work, [NewEvent(EventKind.THOUGHT_RECORDED, {}, "worker:2")])
        failed = activity()
        store.record_activity(work, failed, error="no answer")
        assert crashes(thread) == 2
        progress(Driver(work))
        assert crashes(thread) == 0, progress
        expire(thread)
        assert store.park_crash_loops(owner="sweep") == 0
        work = leases.take_over(thread, owner="worker:2")
        assert work is not None
        assert work.crash_count == 1
        Driver(work).step()


# --- what is not waited for -------------------------------------------------------------------


def test_only_leases_are_written_without_waiting_for_the_disk(real_db: str) -> None:
    rows("CREATE TABLE seen (n serial, how text, what text)")
    rows(
        "CREATE FUNCTION look() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO seen "
        "(how, what) VALUES (current_setting('synchronous_commit'), NEW.status); RETURN NEW; "
        "END $$"
    )
    rows(
        "CREATE TRIGGER look BEFORE INSERT OR UPDATE ON gp_thread FOR EACH ROW "
        "EXECUTE FUNCTION look()"
    )

    def how() -> list[str]:
        results = [how for (how,) in rows("SELECT how FROM seen ORDER BY n")]
        rows("TRUNCATE seen")
        assert one("SHOW synchronous_commit") == "on"  # it never outlives the statement
        return results

    thread = make_thread()
    assert how() == ["on"]
    driver = drive(thread)
    assert how() == ["off"]
    driver.step()
    assert how() == ["on"]
    leases.renew(thread, token=driver.work.token)
    assert how() == ["off"]
    driver.step(leave_by=EventKind.THREAD_SUSPENDED)
    store.wake(thread, event=NewEvent(EventKind.APPROVAL_DECIDED, {}, OPERATOR))
    store.pause(thread, actor=OPERATOR)
    store.edit(thread, changes={"total": 1}, reason="", actor=OPERATOR)
    assert how() == ["on"] * 4


# --- the queue --------------------------------------------------------------------------------


@pytest.mark.django_db
def test_what_lost_its_worker_is_rung_for_before_what_nobody_serves() -> None:
    workspace = make_workspace()
    nobody = make_agent("nobody", queue="nobody")
    for _ in range(30):
        make_thread(workspace=workspace, agent=nobody)
    rows("UPDATE gp_thread SET status_since = clock_timestamp() - interval '1 hour'")
    lost = make_thread(workspace=workspace)
    acquired(lost)
    rows(
        "UPDATE gp_thread SET lease_until = clock_timestamp() - interval '1 second' "
        "WHERE id = %s::uuid",
        (lost,),
    )
    result = store.stranded_threads(queued_for_seconds=15)
    assert result[0] == (lost, "gatepost")
    assert len(result) == 31


def thread_in_turn() -> UUID | None:
    turn = leases.next_queued("gatepost")
    return None if turn is None else turn.thread


@pytest.mark.django_db
def test_the_thread_that_waits_longest_is_next() -> None:
    workspace = make_workspace()
    slow, fast = make_agent("slow", queue="slow"), make_agent("fast", queue="fast")
    first, second = (make_thread(workspace=workspace, agent=fast) for _ in range(2))
    other = make_thread(workspace=workspace, agent=slow)
    for ident, age in ((first, 10), (second, 20), (other, 30)):
        rows(
            "UPDATE gp_thread SET status_since = clock_timestamp() - make_interval(secs => %s) "
            "WHERE id = %s::uuid",
            (age, ident),
        )
    assert leases.next_queued("fast") == leases.Turn(second, workspace)
    assert leases.next_queued("slow") == leases.Turn(other, workspace)
    assert leases.next_queued("none") is None
    assert set(store.stranded_threads(queued_for_seconds=15)) == {(second, "fast"), (other, "slow")}
    for ident in (second, other, first):
        acquired(ident)
    assert leases.next_queued("fast") is None
    assert leases.next_queued("slow") is None


def test_a_thread_that_somebody_is_taking_is_passed_over(real_db: str) -> None:
    first, second = make_thread(), make_thread()
    connected = connection.settings_dict
    with psycopg.connect(
        host=connected["HOST"], dbname=connected["NAME"], user=connected["USER"]
    ) as other:
        other.execute("SELECT 1 FROM gp_thread WHERE id = %s FOR UPDATE", (first,))
        assert thread_in_turn() == second
    assert thread_in_turn() == first


@pytest.mark.django_db
def test_workspaces_take_turns_however_many_threads_one_has_queued() -> None:
    noisy, quiet, third = sorted(make_workspace() for _ in range(3))
    crowd = [make_thread(workspace=noisy) for _ in range(20)]
    one, other = make_thread(workspace=quiet), make_thread(workspace=third)

    def turns(named: UUID | None, after: UUID, times: int) -> list[UUID]:
        result = []
        for _ in range(times):
            turn = leases.next_queued("gatepost", after=after, named=named)
            assert turn is not None
            result.append(turn.thread)
            after = turn.workspace
        return result

    assert turns(None, noisy, 4) == [one, other, crowd[0], one]
    # Rung for by the last of the crowd: in the turn of its workspace it is taken itself.
    assert turns(crowd[-1], noisy, 4) == [one, other, crowd[-1], one]
    assert turns(crowd[-1], third, 2) == [crowd[-1], one]
    # A workspace of which nothing may be taken has no turn.
    acquired(one)
    store.trip_breaker(third, {}, reason="Look first.", actor=OPERATOR)
    assert turns(crowd[-1], noisy, 2) == [crowd[-1], crowd[-1]]
    assert turns(None, uuid4(), 1) == [crowd[0]]


def moved_up(thread: UUID) -> None:
    store.move_up(thread, reason="A customer waits.", actor=OPERATOR)


@pytest.mark.django_db
def test_what_was_moved_up_is_next_of_its_workspace_and_passes_no_turn() -> None:
    own, other = sorted(make_workspace() for _ in range(2))
    threads = [make_thread(workspace=own) for _ in range(4)]
    beside = [make_thread(workspace=other) for _ in range(4)]
    moved_up(threads[2])
    moved_up(threads[3])  # the last one that was moved comes first

    taken, after = [], other
    while (turn := leases.next_queued("gatepost", after=after)) is not None:
        acquired(turn.thread)
        taken.append(turn.thread)
        after = turn.workspace
    assert [one for one in taken if one in threads] == [threads[n] for n in (3, 2, 0, 1)]
    assert taken[1::2] == beside


@pytest.mark.django_db
def test_what_was_moved_up_is_taken_before_the_thread_that_rang() -> None:
    own, other = sorted(make_workspace() for _ in range(2))
    rang, moved = (make_thread(workspace=own) for _ in range(2))
    beside = make_thread(workspace=other)
    moved_up(moved)
    assert leases.next_queued("gatepost", after=other, named=rang) == leases.Turn(moved, own)
    assert leases.next_queued("gatepost", after=own, named=rang) == leases.Turn(beside, other)
    acquired(moved)
    assert leases.next_queued("gatepost", after=other, named=rang) == leases.Turn(rang, own)
    # It lost its place with its status.
    store.pause(rang, actor=OPERATOR)
    store.resume(rang, actor=OPERATOR)
    late = make_thread(workspace=own)
    moved_up(rang)
    store.pause(rang, actor=OPERATOR)
    store.resume(rang, actor=OPERATOR)
    assert leases.next_queued("gatepost", after=other) == leases.Turn(late, own)
    # Where nobody may take it, the others are not held up.
    moved_up(rang)
    store.trip_breaker(own, {"q": str(rang)}, reason="Look first.", actor=OPERATOR)
    assert leases.next_queued("gatepost", after=other) == leases.Turn(late, own)


def test_many_who_move_one_thread_up_and_a_worker_who_takes_it(real_db: str) -> None:
    """Of those who saw the same version one succeeds, and none once it was taken."""
    workspace = make_workspace()
    thread = make_thread(workspace=workspace)
    seen = queries.thread(thread, workspace=workspace).version

    def move(number: int) -> str:
        try:
            store.move_up(thread, reason="Mine.", actor=f"user:{number}", expected_version=seen)
        except StaleVersion:
            return "stale"
        finally:
            connection.close()
        return "moved"

    with ThreadPoolExecutor(8) as pool:
        results = Counter(pool.map(move, range(8)))
    assert results == {"moved": 1, "stale": 7}
    assert kinds_of(thread).count("thread.moved_up") == 1
    assert thread_in_turn() == thread

    def take_or_move(number: int) -> str:
        try:
            if number == 3:
                return "taken" if leases.acquire(thread, owner="worker:1") else "missed"
            store.move_up(thread, reason="Mine.", actor=f"user:{number}")
        except NotAllowedNow:
            return "refused"
        finally:
            connection.close()
        return "moved"

    with ThreadPoolExecutor(8) as pool:
        results = Counter(pool.map(take_or_move, range(8)))
    assert results["taken"] == 1
    assert results["moved"] + results["refused"] == 7
    kinds = kinds_of(thread)
    assert kinds.count("thread.moved_up") == 1 + results["moved"]
    assert kinds[-1] == "lease.acquired"
    assert verify_thread(thread).intact


@pytest.mark.django_db
def test_what_need_not_be_queued_has_its_turn_as_well() -> None:
    """Messages of an ephemeral thread wait elsewhere."""
    own, other = sorted(make_workspace() for _ in range(2))
    named, beside = make_thread(workspace=own), make_thread(workspace=other)
    acquired(named)
    assert leases.next_queued("gatepost", after=other, named=named) == leases.Turn(named, own)
    assert leases.next_queued("gatepost", after=own, named=named) == leases.Turn(beside, other)


@pytest.mark.django_db
def test_a_duty_has_one_owner_at_a_time() -> None:
    assert store.claim_duty("sweep", owner="a", seconds=60)
    assert store.claim_duty("sweep", owner="a", seconds=60)
    assert not store.claim_duty("sweep", owner="b", seconds=60)
    assert store.claim_duty("other", owner="b", seconds=0)
    assert store.claim_duty("other", owner="c", seconds=0)
    store.forget_duty("sweep", owner="b")
    assert not store.claim_duty("sweep", owner="b", seconds=60)
    store.forget_duty("sweep", owner="a")
    assert store.claim_duty("sweep", owner="b", seconds=60)
