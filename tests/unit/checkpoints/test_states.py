"""The one table of transitions: the verbs and the database do what it says and nothing else."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import IntegrityError, transaction

from checkpoints import leases, store
from checkpoints.errors import GatepostError, LeaseLost, NotAllowedNow
from checkpoints.records import Work
from checkpoints.states import (
    EDITABLE,
    FINISHED,
    LIVE,
    PLAIN,
    TRANSITIONS,
    EventKind,
    Status,
    pairs,
    sources,
    target,
)
from checkpoints.store import control
from checkpoints.store.statement.moves import Move, NewEvent, perform

from .builders import (
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

S, K = Status, EventKind
# A worker has a lease on threads of these.
LEASED = {S.RUNNING, S.ROLLING_BACK}
MOVING = sorted({event for moves in TRANSITIONS.values() for event in moves})
BIRTHS = {K.THREAD_STARTED, K.THREAD_FORKED}


# --- the verbs --------------------------------------------------------------------------------


def lease_on(thread: UUID, former: Work | None) -> Work:
    """The lease on a working thread; for any other a token that is none (or not any more)."""
    if status_of(thread) is S.ROLLING_BACK:
        return acquired(thread)
    if former is not None:
        return former
    with transaction.atomic():
        work = acquired(thread) if status_of(thread) is S.QUEUED else None
        transaction.set_rollback(True)
    if work is None:
        work = acquired(make_thread())
        work.thread, work.token = thread, uuid4()
    return work


def by_worker(kind: EventKind) -> Callable[[UUID, Work | None], object]:
    def verb(thread: UUID, former: Work | None) -> object:
        work = lease_on(thread, former)
        if kind not in TRANSITIONS[work.status]:
            raise LeaseLost  # the engine cannot even say it: target() has no such move
        return store.leave(work, kind)

    return verb


def park(thread: UUID, former: Work | None) -> object:
    if status_of(thread) in LEASED:
        return by_worker(K.THREAD_PARKED)(thread, former)
    move = Move(thread, "th.status = 'queued'")  # a queued thread whose code is not there
    move.to_status(S.ATTENTION, reason="no code")
    move.events = [NewEvent(K.THREAD_PARKED, {}, "sweep")]
    return perform(move)


def pause(thread: UUID, former: Work | None) -> object:
    if status_of(thread) is S.RUNNING:
        return by_worker(K.THREAD_PAUSED)(thread, former)
    return store.pause(thread, actor=OPERATOR)


def take_over(thread: UUID, former: Work | None) -> object:
    if status_of(thread) is S.ROLLING_BACK:
        acquired(thread)
    expire(thread)
    return leases.take_over(thread, owner="worker:2")


def wake(thread: UUID, former: Work | None) -> object:
    if status_of(thread) is S.SLEEPING:
        rows("UPDATE gp_thread SET wake_at = clock_timestamp() WHERE id = %s::uuid", (thread,))
        return store.wake_sleepers(owner="sweep")
    return store.wake(thread, event=NewEvent(K.THREAD_WOKEN, {}, "sweep"))


def roll_back(thread: UUID, former: Work | None) -> None:
    first = one("SELECT id FROM gp_checkpoint WHERE thread_id = %s::uuid AND number = 0", (thread,))
    store.roll_back(
        thread, checkpoint=first, undo=(), reason="", actor=OPERATOR, head=head_of(thread)
    )


def retry_rollback(thread: UUID, former: Work | None) -> None:
    if status_of(thread) is S.ATTENTION:  # as a rollback leaves it that parked before its end
        plan = '{"target": "", "undo": []}'
        rows("UPDATE gp_thread SET rollback = %s::jsonb WHERE id = %s::uuid", (plan, thread))
        store.retry(thread, actor=OPERATOR)
    else:
        assert not control.retry_rollback(thread, actor=OPERATOR)
        raise NotAllowedNow


def next_node(thread: UUID) -> str:
    return str(one("SELECT next_nodes ->> 0 FROM gp_thread WHERE id = %s::uuid", (thread,)))


def cancel(thread: UUID, former: Work | None) -> object:
    if status_of(thread) is S.ROLLING_BACK:  # a worker ends what a person wanted ended
        with pytest.raises(NotAllowedNow):
            store.cancel(thread, actor=OPERATOR)
        return by_worker(K.THREAD_CANCELLED)(thread, former)
    return store.cancel(thread, actor=OPERATOR)


def continue_ephemeral(thread: UUID, _: Work | None) -> object:
    # Only a thread without checkpoints takes its next message so: its head is its own id.
    assert leases.continue_thread(thread, owner="worker:2", agents=["research", "test"]) is None
    rows("UPDATE gp_thread SET head = id WHERE id = %s::uuid", (thread,))
    agent = str(one("SELECT agent FROM gp_thread WHERE id = %s::uuid", (thread,)))
    return leases.continue_thread(thread, owner="worker:2", agents=[agent])


def finish_rollback(*, run_on: bool) -> Callable[[UUID, Work | None], object]:
    def verb(thread: UUID, former: Work | None) -> object:
        work = lease_on(thread, former)
        if work.status is not S.ROLLING_BACK:
            raise LeaseLost
        return Driver(work).finish_rollback(run_on=run_on)

    return verb


VERBS: dict[EventKind, Callable[[UUID, Work | None], object]] = {
    K.LEASE_ACQUIRED: lambda thread, _: leases.acquire(thread, owner="worker:2"),
    K.LEASE_TAKEN_OVER: take_over,
    K.THREAD_CONTINUED: continue_ephemeral,
    K.THREAD_HANDED_BACK: by_worker(K.THREAD_HANDED_BACK),
    K.THREAD_SUSPENDED: by_worker(K.THREAD_SUSPENDED),
    K.THREAD_SLEPT: by_worker(K.THREAD_SLEPT),
    K.THREAD_SUCCEEDED: by_worker(K.THREAD_SUCCEEDED),
    K.THREAD_FAILED: by_worker(K.THREAD_FAILED),
    K.THREAD_WOKEN: wake,
    K.THREAD_PAUSED: pause,
    K.THREAD_RESUMED: lambda thread, _: store.resume(thread, actor=OPERATOR),
    K.THREAD_RETRIED: lambda thread, _: store.retry(thread, actor=OPERATOR),
    K.NODE_SKIPPED: lambda thread, _: store.skip(
        thread, node=next_node(thread), reason="", actor=OPERATOR
    ),
    K.THREAD_CANCELLED: cancel,
    K.THREAD_PARKED: park,
    K.STATE_EDITED: lambda thread, _: store.edit(
        thread, changes={"total": 7}, reason="", actor=OPERATOR
    ),
    K.ROLLBACK_STARTED: roll_back,
    K.ROLLBACK_RETRIED: retry_rollback,
    K.ROLLBACK_FINISHED: finish_rollback(run_on=False),
    K.ROLLBACK_RUN_ON: finish_rollback(run_on=True),
}


def test_every_moving_event_has_a_verb() -> None:
    assert set(VERBS) | BIRTHS == set(MOVING)


@pytest.mark.nightly
@pytest.mark.django_db
@pytest.mark.parametrize("status", Status)
def test_each_verb_does_in_each_status_what_the_table_says(status: Status, settings: Any) -> None:
    settings.GATEPOST_LEASE_SECONDS = 0.001
    stamp = "SELECT version, status_since FROM gp_thread WHERE id = %s::uuid"
    tried = moved = 0
    for event, verb in VERBS.items():
        thread = make_thread()
        driver = drive(thread, 1)
        store.hand_back(driver.work, reason="")
        former = bring_to(thread, status)
        assert status_of(thread) is status
        [before] = rows(stamp, (thread,))
        n_events = len(kinds_of(thread))
        try:
            with transaction.atomic():
                verb(thread, former)
        except GatepostError:
            assert event not in TRANSITIONS[status], (status, event)
        after = status_of(thread)
        assert after is TRANSITIONS[status].get(event, status), (status, event)
        logged = kinds_of(thread)[n_events:]
        if event in TRANSITIONS[status]:
            moved += 1
            assert str(event) in logged
            assert after is target(event, status)
            [now] = rows(stamp, (thread,))
            if after is not status:
                # People and external agents check the version; boards sort by the time.
                assert now[0] > before[0], (status, event)
                assert now[1] > before[1], (status, event)
            elif event is not K.STATE_EDITED:
                assert now == before, (status, event)
        elif event is not K.THREAD_WOKEN:  # news is always logged; it only moves who waits
            assert str(event) not in logged, (status, event)
        tried += 1
    assert tried == len(VERBS)
    assert moved == len(TRANSITIONS[status])


@pytest.mark.django_db
def test_a_thread_begins_queued() -> None:
    thread = make_thread()
    fork = store.fork(thread, checkpoint=head_of(thread), changes={}, actor=OPERATOR)
    assert set(TRANSITIONS[None]) == BIRTHS
    for ident, kind in ((thread, K.THREAD_STARTED), (fork, K.THREAD_FORKED)):
        assert status_of(ident) is target(kind, None) is S.QUEUED
        assert kinds_of(ident) == [str(kind)]


@pytest.mark.django_db
def test_other_events_leave_the_status_alone() -> None:
    thread = make_thread()
    quiet = [kind for kind in EventKind if kind not in MOVING]
    for kind in quiet:
        data = {"title": "Suggested"} if kind is EventKind.TITLE_SUGGESTED else {}
        assert store.add_event(thread, NewEvent(kind, data, OPERATOR))
    assert status_of(thread) is S.QUEUED
    assert kinds_of(thread)[1:] == [str(kind) for kind in quiet]


# --- the database -----------------------------------------------------------------------------


@pytest.mark.django_db
def test_the_trigger_repeats_the_table() -> None:
    text = one("SELECT pg_get_functiondef('gp_transition'::regproc)")
    listed = re.findall(r"'([a-z_]+)>([a-z_]+)'", text)
    assert len(listed) == len(set(listed))
    assert set(listed) == pairs()


@pytest.mark.django_db
def test_the_database_refuses_every_other_pair() -> None:
    thread = make_thread()
    allowed = refused = 0
    for old in Status:
        for new in Status:
            rows("SET LOCAL session_replication_role = replica")
            rows("UPDATE gp_thread SET status = %s::varchar WHERE id = %s::uuid", (old, thread))
            rows("SET LOCAL session_replication_role = DEFAULT")
            try:
                with transaction.atomic():
                    rows(
                        "UPDATE gp_thread SET status = %s::varchar WHERE id = %s::uuid",
                        (new, thread),
                    )
            except IntegrityError:
                assert old != new
                assert (old, new) not in pairs()
                refused += 1
            else:
                assert old == new or (old, new) in pairs()
                allowed += 1
    assert allowed == len(pairs()) + len(Status)
    assert refused == len(Status) ** 2 - allowed
    with pytest.raises(IntegrityError):
        rows("UPDATE gp_thread SET status = 'asleep' WHERE id = %s::uuid", (thread,))


@pytest.mark.requirement("B25")
def test_each_status_has_one_plain_word() -> None:
    assert set(PLAIN) == set(Status)
    assert {s for s in Status if PLAIN[s] == "running"} == LEASED | {S.QUEUED}
    assert {s for s in Status if PLAIN[s] == "paused"} == {S.WAITING, S.SLEEPING, S.PAUSED}
    assert {s for s in Status if PLAIN[s] == "failed"} == {S.FAILED, S.CANCELLED, S.ATTENTION}
    assert {s for s in Status if PLAIN[s] == "succeeded"} == {S.SUCCEEDED}
    text = (Path(__file__).parents[3] / "docs/lifecycle.md").read_text()
    for word in PLAIN.values():
        line = next(line for line in text.splitlines() if line.startswith(f"| `{word}` | `"))
        assert set(re.findall(r"`(\w+)`", line.partition("| `")[2].partition("|")[2])) == {
            str(s) for s in Status if PLAIN[s] == word
        }


# --- the lists beside the table ---------------------------------------------------------------


def test_the_lists_fit_together() -> None:
    assert set(Status) == LIVE | FINISHED
    assert not LIVE & FINISHED
    assert set(TRANSITIONS) == {None, *Status}
    assert set(sources(K.STATE_EDITED)) | set(sources(K.THREAD_RETRIED)) <= EDITABLE
    assert set(sources(K.STATE_EDITED)) == EDITABLE
    assert not EDITABLE & LEASED
    assert set(sources(K.ROLLBACK_STARTED)) == set(Status) - {S.ROLLING_BACK}
    assert all(re.fullmatch(r"[a-z]+\.[a-z_]+", kind) for kind in EventKind)
    reached, border = set(), {S.QUEUED}
    while border:
        reached |= border
        border = {new for old in border for new in TRANSITIONS[old].values()} - reached
    assert reached == set(Status)
