"""The one statement of a step: what it costs, what guards it, and that it is all or nothing."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from django.db import OperationalError, connection
from pytest_django import DjangoAssertNumQueries
from uuid_utils.compat import uuid7

from benchmarks.servers import without_autovacuum
from checkpoints import leases, queries, store
from checkpoints.chain import verify_thread
from checkpoints.errors import ConcurrentModificationError, InvalidValue, LeaseLost
from checkpoints.queries.states import materialized
from checkpoints.records import NewActivity, Position
from checkpoints.state.channels import build_delta, reducers_of
from checkpoints.state.deltas import canonical
from checkpoints.states import EventKind, Status
from checkpoints.store import NewEvent, steps
from tests.unit.checkpoints.builders import (
    OPERATOR,
    Driver,
    acquired,
    drive,
    expire,
    head_of,
    kinds_of,
    make_agent,
    make_thread,
    new_activity,
    one,
    rows,
    status_of,
)

THOUGHT = NewEvent(EventKind.THOUGHT_RECORDED, {"text": "so be it"}, "worker:1")


def everything(thread: UUID) -> str:
    """A fingerprint of all rows of a thread."""
    row: str = one(
        "SELECT md5(string_agg(x, '|' ORDER BY x)) FROM ("
        "SELECT t::text AS x FROM gp_thread t WHERE id = %s::uuid "
        "UNION ALL SELECT c::text FROM gp_checkpoint c WHERE thread_id = %s::uuid "
        "UNION ALL SELECT e::text FROM gp_event e WHERE thread_id = %s::uuid) y",
        (thread, thread, thread),
    )
    return row


@contextmanager
def protocol() -> Iterator[list[str]]:
    """The messages that go to the server meanwhile, by name, as the client library logs them."""
    sent: list[str] = []
    connection.ensure_connection()
    with tempfile.TemporaryFile() as log:
        pgconn = connection.connection.pgconn
        pgconn.trace(log.fileno())
        try:
            yield sent
        finally:
            pgconn.untrace()
            log.seek(0)
            lines = [line.split(b"\t") for line in log]
            sent += [line[3].strip().decode() for line in lines if line[1] == b"F"]


# --- what it costs ----------------------------------------------------------------------------


def test_a_step_is_one_statement_one_round_trip_and_one_write_transaction(
    real_db: str, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    driver = drive(make_thread(), 20)
    with django_assert_num_queries(1) as queries:
        driver.step(events=[THOUGHT])
    assert "BEGIN" not in str(queries.captured_queries)
    for _ in range(5):
        driver.step(events=[THOUGHT])
    with protocol() as sent:
        driver.step(events=[THOUGHT])
    # One Sync is one wait for the server; a prepared statement is bound and executed, not parsed.
    assert sent == ["Bind", "Describe", "Execute", "Sync"]
    upper = "SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint"
    # The server counts for all: an analysis by autovacuum takes a transaction id as well.
    with without_autovacuum(connection.connection):
        before = one(upper)
        for _ in range(100):
            driver.step(events=[THOUGHT])
        assert one(upper) - before == 100
    # Checkpoint, events and head belong to the same transaction.
    xids = rows("SELECT xmin::text, count(*) FROM gp_event WHERE seq > 40 GROUP BY 1")
    assert len(xids) > 90
    assert {count for _, count in xids} == {2}
    assert (
        one(
            "SELECT count(*) FROM gp_checkpoint c WHERE number > 20 AND NOT EXISTS (SELECT 1 "
            "FROM gp_event e WHERE e.xmin = c.xmin AND e.kind = 'checkpoint.committed')"
        )
        == 0
    )


def test_every_update_of_a_step_is_heap_only(real_db: str) -> None:
    driver = drive(make_thread(), 3)

    def updates() -> tuple[int, int]:
        rows("SELECT pg_stat_force_next_flush()")
        [result] = rows(
            "SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = 'gp_thread'"
        )
        return result[0], result[1]

    before = updates()
    for number in range(200):
        driver.step({"set": {"goal": "x" * (number * 20)}}, events=[THOUGHT])
        leases.renew(driver.work.thread, token=driver.work.token)
    after = updates()
    assert after[0] - before[0] == 400
    assert after[1] - before[1] == 400


def test_the_statement_does_not_grow_with_the_thread(real_db: str) -> None:
    driver = drive(make_thread())
    sizes = []

    def measure(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        sizes.append(len(sql) + sum(len(p) for p in params.values() if isinstance(p, str | bytes)))
        return execute(sql, params, many, context)

    for _ in range(3):
        with connection.execute_wrapper(measure):
            driver.step({"append": {"log": ["x"]}})
        for _ in range(99):
            driver.step({"append": {"log": ["x"]}})
    assert len(sizes) == 3
    assert max(sizes) - min(sizes) < 20  # digits of the ordinals


# --- what guards it ---------------------------------------------------------------------------


@pytest.mark.django_db
def test_a_stale_token_commits_nothing() -> None:
    thread = make_thread()
    driver = drive(thread, 2)
    expire(thread)
    rows("UPDATE gp_thread SET lease_token = %s::uuid WHERE id = %s::uuid", (uuid4(), thread))
    before, work = everything(thread), driver.work
    activity = NewActivity(
        id=uuid7(),
        position=Position(0, 3, "work", 0, "load#0"),
        kind="activity",
        tool="load",
        args={},
        idempotency_key="k",
    )
    lease_writes = [
        lambda: driver.step(),
        lambda: driver.step(leave_by=EventKind.THREAD_SUCCEEDED),
        lambda: store.record(work, [THOUGHT]),
        lambda: store.leave(work, EventKind.THREAD_FAILED),
        lambda: store.leave(work, EventKind.THREAD_SUSPENDED, unless_woken=True),
        lambda: store.hand_back(work, reason=""),
        lambda: store.record_activity(work, activity, result=1),
        lambda: store.start_activity(work, activity),
        lambda: store.finish_activity(work, activity, state="done", result=1),
    ]
    for write in lease_writes:
        with pytest.raises(LeaseLost):
            write()
    store.report_progress(work, activity, {"done": 1})
    assert everything(thread) == before
    assert one("SELECT count(*) FROM gp_activity") == 0
    assert not leases.renew(thread, token=work.token)
    assert issubclass(LeaseLost, ConcurrentModificationError)


@pytest.mark.django_db
def test_another_head_than_the_one_worked_on_commits_nothing() -> None:
    thread = make_thread()
    driver = drive(thread, 2)
    before = everything(thread)
    driver.work.head = uuid4()
    with pytest.raises(LeaseLost):
        driver.step()
    assert everything(thread) == before


@pytest.mark.django_db
def test_an_event_that_cannot_be_stored_keeps_the_whole_step_out() -> None:
    thread = make_thread()
    driver = drive(thread, 2)
    before = everything(thread)
    for data in ({"text": "x" * 300_000}, {"text": "a\0b"}, {"n": float("nan")}):
        with pytest.raises(InvalidValue):
            driver.step(events=[THOUGHT, NewEvent(EventKind.THOUGHT_RECORDED, data, "worker:1")])
    with pytest.raises(InvalidValue, match="the state has"):
        driver.step({"set": {"goal": "x" * 8_400_000}})
    assert everything(thread) == before


@pytest.mark.django_db
def test_a_step_commits_with_an_expired_lease_that_nobody_took() -> None:
    thread = make_thread()
    driver = drive(thread, 1)
    expire(thread)
    driver.step()
    assert driver.work.number == 2


# --- a lost answer ----------------------------------------------------------------------------


def cut(after: bool) -> Any:
    """`perform` on a connection that dies, once, before or after the statement was executed."""
    perform, left = steps.perform, [1]

    def performed(move: Any) -> Any:
        if not left:
            return perform(move)
        left.pop()
        pid = one("SELECT pg_backend_pid()")
        if after:
            perform(move)
        connected = connection.settings_dict
        with psycopg.connect(
            host=connected["HOST"], dbname=connected["NAME"], user=connected["USER"]
        ) as other:
            other.execute("SELECT pg_terminate_backend(%s, 1000)", (pid,))
        if after:  # the answer was on its way when the line went dead
            raise OperationalError("consuming input failed: server closed the connection")
        return perform(move)

    return performed


def test_a_lost_answer_to_the_commit_counts_as_committed(
    real_db: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    thread = make_thread()
    driver = drive(thread, 2)
    monkeypatch.setattr(steps, "perform", cut(after=True))
    driver.step(events=[THOUGHT])
    driver.step()
    assert driver.work.number == one("SELECT number FROM gp_thread") == 4
    assert driver.work.last_seq == one("SELECT last_seq FROM gp_thread")
    assert materialized.materialise(thread, head_of(thread)).state["log"] == [1, 2, 3, 4]
    assert verify_thread(thread).intact


def test_a_commit_that_did_not_happen_is_an_error_and_can_be_done_again(
    real_db: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    thread = make_thread()
    driver = drive(thread, 2)
    before = everything(thread)
    monkeypatch.setattr(steps, "perform", cut(after=False))
    checkpoint = driver.next_checkpoint({"append": {"log": [3]}})
    with pytest.raises(OperationalError):
        store.commit_step(driver.work, checkpoint)
    assert everything(thread) == before
    store.commit_step(driver.work, checkpoint)
    assert driver.work.head == head_of(thread) == checkpoint.id
    assert verify_thread(thread).intact


# --- what it does -----------------------------------------------------------------------------


@pytest.mark.requirement("C06")
def test_the_state_after_each_step_is_in_postgresql_for_everybody(real_db: str) -> None:
    thread = make_thread()
    driver = drive(thread)
    connected = connection.settings_dict
    with psycopg.connect(
        host=connected["HOST"], dbname=connected["NAME"], user=connected["USER"], autocommit=True
    ) as other:
        for number in range(1, 11):
            head = driver.step({"append": {"log": [number]}, "set": {"total": number}})
            seen = other.execute(
                "SELECT th.head, th.number, c.delta, c.state_hash FROM gp_thread th "
                "JOIN gp_checkpoint c ON c.thread_id = th.id AND c.id = th.head"
            ).fetchone()
            assert seen is not None
            assert seen[:3] == (
                head,
                number,
                {"append": {"log": [number]}, "set": {"total": number}},
            )
            assert seen[3] == driver.digests.root
            assert queries.state_at(thread, head) == driver.state


@pytest.mark.django_db
@pytest.mark.requirement("C04")
def test_reducers_are_per_key_and_need_no_agent_code_to_read() -> None:
    channels = {
        "messages": {"reducer": "append", "default": []},
        "title": {"reducer": "last_value", "default": ""},
        "facts": {"reducer": "merge", "default": {}},
        "count": {"reducer": "sum", "default": 0},
        "spent": {"reducer": "decimal", "default": "0"},
        "best": {"reducer": "custom", "default": 0},
    }
    thread = make_thread(agent=make_agent("reducing", channels=channels), input={})
    driver = drive(thread)
    reducers = reducers_of(channels)

    class Largest(type(reducers["best"])):  # type: ignore[misc]
        """As an agent's author would give it."""

    reducers["best"] = Largest(fn=max)
    for number in (5, 9, 7):
        update = {
            "messages": [f"m{number}"],
            "title": f"title {number}",
            "facts": {str(number): True, "last": number},
            "count": number,
            "spent": "0.10",
            "best": number,
        }
        driver.step(build_delta(driver.state, [("work", update)], reducers))
    state = queries.state_at(thread, head_of(thread))
    assert state == {
        "messages": ["m5", "m9", "m7"],
        "title": "title 7",
        "facts": {"5": True, "9": True, "7": True, "last": 7},
        "count": 21,
        "spent": "0.30",
        "best": 9,
    }
    # A list grows by what is new; a scalar is overwritten.
    last = queries.checkpoint(thread, head_of(thread)).delta
    assert last["append"] == {"messages": ["m7"]}
    assert last["set"]["title"] == "title 7"
    assert verify_thread(thread).intact


@pytest.mark.django_db
def test_work_knows_after_a_step_what_the_statement_saw() -> None:
    thread = make_thread()
    driver = drive(thread)
    store.pause(thread, actor=OPERATOR)
    store.wake(thread, event=NewEvent(EventKind.APPROVAL_DECIDED, {}, OPERATOR))
    work = driver.work
    assert (work.wish, work.wake_seq) == ("", 0)
    driver.step()
    assert (work.wish, work.wish_by, work.wake_seq) == ("pause", OPERATOR, 1)
    assert (work.head, work.number, work.step) == (head_of(thread), 1, 1)
    [result] = rows("SELECT version, last_seq, n_steps FROM gp_thread")
    assert result == (work.version, work.last_seq, 1)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("by", "status"),
    [
        (EventKind.THREAD_SUCCEEDED, Status.SUCCEEDED),
        (EventKind.THREAD_PAUSED, Status.PAUSED),
        (EventKind.THREAD_HANDED_BACK, Status.QUEUED),
        (EventKind.THREAD_FAILED, Status.FAILED),
    ],
)
def test_the_last_step_moves_the_thread_and_gives_the_lease_back(
    by: EventKind, status: Status
) -> None:
    thread = make_thread(pause_at="work")
    driver = drive(thread, 1)
    store.pause(thread, actor=OPERATOR)
    driver.step(leave_by=by)
    assert status_of(thread) is status
    [row] = rows(
        "SELECT lease_owner, lease_token, lease_until, wish, pause_at, number FROM gp_thread"
    )
    request = ("", "") if status is Status.PAUSED else ("pause", "work")
    assert row == ("", None, None, *request, 2)
    assert kinds_of(thread)[-2:] == ["checkpoint.committed", str(by)]
    with pytest.raises(LeaseLost):
        driver.step()


@pytest.mark.django_db
def test_tokens_and_cost_add_up() -> None:
    thread = make_thread()
    driver = drive(thread)
    usage = {"model": "m", "tokens": 1_000, "cost": "0.000125"}
    for i in range(3):
        store.record_activity(driver.work, new_activity(driver.work, f"m#{i}"), usage=usage)
    row = queries.thread(thread, workspace=driver.work.workspace)
    assert (row.tokens, row.cost) == (3_000, "0.000375")


@pytest.mark.django_db
def test_the_size_that_is_stored_is_the_size_of_the_state() -> None:
    driver = drive(make_thread(), 5)
    assert one("SELECT state_bytes FROM gp_thread") == len(canonical(driver.state))


@pytest.mark.django_db
def test_a_worker_that_loads_the_head_goes_on_with_the_same_hashes() -> None:
    thread = make_thread()
    first = drive(thread, 4)
    store.hand_back(first.work, reason="time slice")
    second = Driver(acquired(thread, owner="worker:2"))
    assert second.digests.root == first.digests.root
    second.step()
    assert verify_thread(thread).intact


def test_a_kept_cursor_is_left_when_the_thread_has_another_connection(real_db: str) -> None:
    """Beside a running event loop Django gives the same thread another connection."""
    before = make_thread()
    seen: list[Any] = []

    async def beside_a_loop() -> None:
        with allowed_in_async():
            seen.append(make_thread())
            seen.append(one("SELECT pg_backend_pid()"))
            connection.close()

    asyncio.run(beside_a_loop())
    own = one("SELECT pg_backend_pid()")
    after = make_thread()
    assert seen[1] != own
    for thread in (before, seen[0], after):
        assert one("SELECT count(*) FROM gp_checkpoint WHERE thread_id = %s::uuid", (thread,)) == 1
        assert one("SELECT count(*) FROM gp_event WHERE thread_id = %s::uuid", (thread,)) == 1


@contextmanager
def allowed_in_async() -> Iterator[None]:
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"
    try:
        yield
    finally:
        del os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"]
