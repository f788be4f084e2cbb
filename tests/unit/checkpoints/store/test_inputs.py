"""New input of a living thread: kept at once, taken once and in order, whoever races or dies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import pytest
from django.db import IntegrityError, connection, transaction

from checkpoints import leases, queries, store
from checkpoints.chain import verify_thread
from checkpoints.errors import InvalidValue, LeaseLost, NotAllowedNow, NotFound, StaleVersion
from checkpoints.queries.states import materialized
from checkpoints.states import TAKES_INPUT, EventKind, Status
from checkpoints.store import NewEvent
from tests.unit.checkpoints.builders import (
    OPERATOR,
    Driver,
    acquired,
    bring_to,
    drive,
    expire,
    head_of,
    kinds_of,
    make_thread,
    one,
    rows,
    status_of,
)
from tests.unit.checkpoints.racing import race

STAMP = "SELECT version, wake_seq, n_steps, step, lease_token FROM gp_thread WHERE id = %s::uuid"


def send(thread: UUID, message: Any, **more: Any) -> int:
    return store.send_input(thread, message=message, actor=OPERATOR, **more)


def take(driver: Driver, seqs: Sequence[int] | None = None) -> UUID:
    """What a worker does between two steps: one checkpoint with all that waits."""
    waiting = [
        w for w in queries.waiting_inputs(driver.work.thread) if seqs is None or w.seq in seqs
    ]
    checkpoint = driver.next_checkpoint(
        {"append": {"log": [w.message for w in waiting]}},
        step=driver.work.step,
        source="input",
        nodes=(),
        next_nodes=driver.work.next_nodes,
    )
    settled = [w.seq for w in waiting]
    store.commit_step(
        driver.work,
        checkpoint,
        before=[NewEvent(EventKind.INPUT_TAKEN, {"inputs": settled}, driver.work.owner)],
        taken=settled,
    )
    return checkpoint.id


@pytest.mark.django_db
def test_a_message_is_kept_beside_the_lease_and_taken_as_a_checkpoint_of_its_own() -> None:
    thread = make_thread()
    driver = drive(thread, 2)
    [before] = rows(STAMP, (thread,))
    message = {"text": "look at the north"}
    seq = send(thread, message)
    [after] = rows(STAMP, (thread,))
    # No version is spent and the worker keeps its lease; only wake_seq tells that there is news.
    assert after == (before[0], before[1] + 1, *before[2:])
    [waiting] = queries.waiting_inputs(thread)
    assert (waiting.seq, waiting.message) == (seq, {"text": "look at the north"})
    assert waiting.actor == OPERATOR
    [event] = queries.events_after(thread, seq - 1)
    assert (event.kind, event.data) == (
        "input.received",
        {"message": {"text": "look at the north"}},
    )

    seen = driver.work.wake_seq
    driver.step()
    assert driver.work.wake_seq == seen + 1
    head = take(driver)
    row = queries.checkpoint(thread, head)
    assert (row.number, row.step, row.source, row.nodes) == (4, 3, "input", ())
    assert row.next_nodes == ("work",)
    assert queries.waiting_inputs(thread) == []
    assert one("SELECT n_steps FROM gp_thread WHERE id = %s::uuid", (thread,)) == 3
    driver.step()
    assert driver.work.step == 4
    assert materialized.materialise(thread, driver.work.head).state["log"] == [
        1, 2, 3, {"text": "look at the north"}, 5,
    ]  # fmt: skip
    assert verify_thread(thread).intact


@pytest.mark.django_db
@pytest.mark.parametrize("status", Status)
def test_each_status_takes_it_or_says_why_not(status: Status) -> None:
    thread = make_thread()
    bring_to(thread, status)
    if status in TAKES_INPUT:
        send(thread, "more")
        assert len(queries.waiting_inputs(thread)) == 1
    else:
        with pytest.raises(NotAllowedNow, match=f"while the thread is {status}"):
            send(thread, "more")
        assert queries.waiting_inputs(thread) == []
        assert "input.received" not in kinds_of(thread)
    assert status_of(thread) is status  # nobody is woken, no sleep is cut short
    assert set(Status) - TAKES_INPUT == {Status.SUCCEEDED, Status.CANCELLED}


@pytest.mark.django_db
def test_refusals_name_their_reason() -> None:
    thread = make_thread()
    with pytest.raises(StaleVersion):
        send(thread, 1, expected_version=99)
    with pytest.raises(NotFound):
        send(UUID(int=0), 1)
    with pytest.raises(InvalidValue):
        send(thread, "x" * 300_000)
    with pytest.raises(InvalidValue):
        send(thread, {"text": "a\0b"})
    assert send(thread, None, expected_version=1) == 2
    assert queries.waiting_inputs(thread)[0].message is None


@pytest.mark.django_db
def test_only_the_worker_with_the_lease_settles_it() -> None:
    thread = make_thread()
    driver = drive(thread, 1)
    send(thread, "first")
    store.cancel(thread, actor=OPERATOR)
    with pytest.raises(LeaseLost):
        take(driver)
    assert [w.message for w in queries.waiting_inputs(thread)] == ["first"]
    assert "input.taken" not in kinds_of(thread)


@pytest.mark.django_db
def test_what_comes_meanwhile_waits_for_the_next_look() -> None:
    thread = make_thread()
    driver = drive(thread, 1)
    first = send(thread, "first")
    send(thread, "second")
    take(driver, [first])
    assert [w.message for w in queries.waiting_inputs(thread)] == ["second"]
    [left] = queries.waiting_inputs(thread)
    refusal = NewEvent(EventKind.UPDATE_REJECTED, {"input": left.seq}, driver.work.owner)
    store.record(driver.work, [refusal], taken=[left.seq])
    assert queries.waiting_inputs(thread) == []


@pytest.mark.django_db
def test_a_fork_before_the_taking_and_a_rollback_over_it_do_not_have_it() -> None:
    thread = make_thread()
    driver = drive(thread, 1)
    before = driver.work.head
    send(thread, "taken")
    take(driver)
    send(thread, "not taken yet")
    driver.step()
    fork = store.fork(thread, checkpoint=before, changes={}, actor=OPERATOR)
    assert queries.waiting_inputs(fork) == []
    assert materialized.materialise(fork, head_of(fork)).state["log"] == [1]

    store.roll_back(
        thread, checkpoint=before, undo=(), reason="", actor=OPERATOR, head=driver.work.head
    )
    Driver(acquired(thread)).finish_rollback()
    # It went with the branch that took it; what nobody has seen still comes.
    assert materialized.materialise(thread, head_of(thread)).state["log"] == [1]
    assert [w.message for w in queries.waiting_inputs(thread)] == ["not taken yet"]
    assert verify_thread(thread).intact
    assert verify_thread(fork).intact


@pytest.mark.django_db
def test_other_news_of_the_thread_is_no_input() -> None:
    thread = make_thread()
    rows(
        "INSERT INTO gp_wake (thread_id, kind, ref) VALUES (%s::uuid, 'child', 'not a number')",
        (thread,),
    )
    seq = send(thread, "hello")
    assert [w.seq for w in queries.waiting_inputs(thread)] == [seq]
    with transaction.atomic(), pytest.raises(IntegrityError), transaction.atomic():
        rows(
            "INSERT INTO gp_wake (thread_id, kind, ref) VALUES (%s::uuid, 'input', %s::varchar)",
            (thread, str(seq)),
        )


def test_twenty_at_once_and_a_worker_that_steps_meanwhile(real_db: None) -> None:
    """All are kept, each is taken once and in the order of the log."""
    rounds, senders = 5, 20
    thread = make_thread()
    taken_by: list[int] = []

    def work(number: int) -> int:
        driver = Driver(acquired(thread, owner=f"worker:{number}"))
        seen = 0
        for _ in range(12):
            if driver.work.wake_seq != seen:
                seen = driver.work.wake_seq
                if queries.waiting_inputs(thread):
                    take(driver)
                    taken_by.append(number)
            driver.step({})
        store.hand_back(driver.work, reason="enough")
        return number

    answers = race(
        rounds,
        work,
        *[lambda r, s=s: send(thread, f"{r}.{s}") for s in range(senders)],  # type: ignore[misc]
    )
    assert not [a for answer in answers for a in answer if isinstance(a, Exception)]
    driver = Driver(acquired(thread))
    if queries.waiting_inputs(thread):
        take(driver)
    sent = [e for e in queries.events_after(thread, 0, limit=5_000) if e.kind == "input.received"]
    assert len(sent) == rounds * senders
    state = materialized.materialise(thread, driver.work.head).state
    assert state["log"] == [e.data["message"] for e in sent]
    settled = [
        seq
        for e in queries.events_after(thread, 0, limit=5_000)
        if e.kind == "input.taken"
        for seq in e.data["inputs"]
    ]
    assert settled == [e.seq for e in sent]
    assert taken_by  # some of it really was taken between steps
    assert verify_thread(thread).intact


def test_two_workers_that_both_believe_in_their_lease(real_db: None, settings: Any) -> None:
    """The former holder's taking is refused whole, the message comes once."""
    settings.GATEPOST_LEASE_SECONDS = 0.001
    for _ in range(10):
        thread = make_thread()
        former = drive(thread, 1)
        send(thread, "once")
        expire(thread)
        work = leases.take_over(thread, owner="worker:2")
        assert work is not None
        drivers = [former, Driver(work)]
        answers = race(1, *[lambda _, d=d: take(d) for d in drivers])  # type: ignore[misc]
        [(stale, won)] = answers
        assert isinstance(stale, LeaseLost)
        assert won == head_of(thread)
        assert materialized.materialise(thread, won).state["log"] == [1, "once"]
        assert kinds_of(thread).count("input.taken") == 1
    connection.close()
