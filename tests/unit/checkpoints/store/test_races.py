"""Two at once on real connections: one wins, the other is told; each test counts its successes."""

from __future__ import annotations

import random
import time
from collections import Counter
from typing import Any
from uuid import UUID

import pytest
from django.db import connection

from checkpoints import leases, queries, store
from checkpoints.chain import verify_thread
from checkpoints.errors import (
    ConcurrentModificationError,
    LeaseLost,
    NotAllowedNow,
    StaleVersion,
)
from checkpoints.states import EventKind, Status
from checkpoints.store import NewEvent
from gatepost.contrib.graph_store import update_agent_state_atomic
from tests.unit.checkpoints.builders import (
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
from tests.unit.checkpoints.racing import outcomes, race

pytestmark = pytest.mark.hazard
K, S = EventKind, Status


def made(count: int, status: Status = S.QUEUED) -> list[UUID]:
    workspace, agent = make_workspace(), make_agent()
    threads = [make_thread(workspace=workspace, agent=agent) for _ in range(count)]
    for thread in threads:
        bring_to(thread, status)
    return threads


def version_of(thread: UUID) -> int:
    row: int = one("SELECT version FROM gp_thread WHERE id = %s::uuid", (thread,))
    return row


@pytest.mark.requirement("C26")
@pytest.mark.requirement("C28")
def test_of_two_edits_of_one_version_exactly_one_wins(real_db: str) -> None:
    """Two writers read the same version and write; whoever loses must reload, and then may."""
    [thread] = made(1, S.PAUSED)
    versions = [version_of(thread)]

    def writer(name: str, other: str) -> Any:
        def edit(number: int) -> UUID:
            # The version of this round: one more with each edit that won.
            return store.edit(
                thread, changes={"goal": f"{name} {number}"}, reason="", actor=name,
                expected_version=versions[0] + number,
            )  # fmt: skip

        return edit

    answers = race(100, writer("user:1", "user:2"), writer("user:2", "user:1"))
    won = outcomes(answers, StaleVersion)
    assert sum(won) == 100
    assert min(won) > 0, won  # it was a race, not a queue
    assert version_of(thread) == versions[0] + 100
    assert kinds_of(thread).count("state.edited") == 100
    for number, answer in enumerate(answers):
        [winner] = [a for a in answer if isinstance(a, UUID)]
        [loser] = [a for a in answer if not isinstance(a, UUID)]
        assert isinstance(loser, ConcurrentModificationError)
        assert "reload and retry" in loser.message
        row = queries.checkpoint(thread, winner)
        assert row.number == number + 1
        assert row.delta["set"]["goal"] == f"{row.created_by} {number}"
    assert verify_thread(thread).intact
    store.edit(
        thread, changes={"goal": "reloaded"}, reason="", actor=OPERATOR,
        expected_version=version_of(thread),
    )  # fmt: skip


@pytest.mark.requirement("F08")
def test_of_two_updates_of_one_version_exactly_one_wins(real_db: str) -> None:
    [thread] = made(1, S.PAUSED)
    version = version_of(thread)

    def writer(name: str) -> Any:
        def update(number: int) -> None:
            update_agent_state_atomic(
                connection, str(thread), version + number, {"goal": f"{name} {number}"}
            )

        return update

    won = outcomes(race(50, writer("one"), writer("two")), ConcurrentModificationError)
    assert sum(won) == 50
    assert min(won) > 0, won  # it was a race, not a queue
    assert version_of(thread) == version + 50
    assert kinds_of(thread).count("state.edited") == 50


def test_of_two_edits_without_a_version_none_is_lost(real_db: str) -> None:
    [thread] = made(1, S.PAUSED)

    def writer(channel: str) -> Any:
        return lambda number: store.edit(
            thread, changes={channel: number}, reason="", actor=OPERATOR
        )

    answers = race(60, writer("goal"), writer("total"))
    won = Counter(type(answer).__name__ for pair in answers for answer in pair)
    assert set(won) <= {"UUID", "StaleVersion"}
    assert won["UUID"] == kinds_of(thread).count("state.edited") >= 60
    # Every edit that was accepted stands on the one before it.
    assert [c.number for c in reversed(queries.checkpoints(thread, limit=200).rows)] == list(
        range(won["UUID"] + 1)
    )
    assert verify_thread(thread).intact


@pytest.mark.slow
def test_pause_against_cancel_ends_cancelled_with_a_true_log(real_db: str) -> None:
    threads = made(100)
    answers = race(
        100,
        lambda n: store.pause(threads[n], actor="user:1"),
        lambda n: store.cancel(threads[n], actor="user:2"),
    )
    seen: Counter[str] = Counter()
    for thread, (paused, cancelled) in zip(threads, answers, strict=True):
        assert cancelled == ""  # a thread can be cancelled whether it was paused before or not
        assert status_of(thread) is S.CANCELLED
        first = isinstance(paused, str)
        assert first or isinstance(paused, NotAllowedNow)
        expected = ["thread.paused"] * first + ["thread.cancelled"]
        assert kinds_of(thread) == ["thread.started", *expected]
        assert version_of(thread) == 1 + len(expected)
        seen["paused first" if first else "cancelled first"] += 1
    assert sum(seen.values()) == 100


@pytest.mark.slow
@pytest.mark.parametrize(
    ("verb", "status", "kind"),
    [
        (store.resume, S.PAUSED, "thread.resumed"),
        (store.retry, S.FAILED, "thread.retried"),
        (store.cancel, S.WAITING, "thread.cancelled"),
    ],
)
def test_the_same_verb_twice_at_once_happens_once(
    real_db: str, verb: Any, status: Status, kind: str
) -> None:
    threads = made(40, status)
    racer = lambda n: verb(threads[n], actor=OPERATOR)  # noqa: E731
    assert sum(outcomes(race(40, racer, racer), NotAllowedNow)) == 40
    for thread in threads:
        assert kinds_of(thread).count(kind) == 1


@pytest.mark.slow
@pytest.mark.parametrize("jitter", [0.0, 0.001])
def test_no_wake_up_is_lost_to_a_thread_that_falls_asleep(real_db: str, jitter: float) -> None:
    """Whoever comes first: news never leaves a thread waiting for it."""
    rounds = 200
    threads = made(rounds)
    works = [acquired(thread) for thread in threads]
    random.seed(7)

    def leave(n: int) -> bool:
        time.sleep(random.random() * jitter)
        return store.leave(works[n], K.THREAD_SUSPENDED, unless_woken=True)

    def wake(n: int) -> bool:
        time.sleep(random.random() * jitter)
        return store.wake(threads[n], event=NewEvent(K.APPROVAL_DECIDED, {}, OPERATOR))

    seen: Counter[str] = Counter()
    for n, (left, woken) in enumerate(race(rounds, leave, wake)):
        assert woken is True
        status = status_of(threads[n])
        if left is True:  # slept first, and was woken
            assert status is S.QUEUED
            assert kinds_of(threads[n])[-2:] == ["thread.suspended", "approval.decided"]
        else:  # heard the news first: still at work, with its lease
            assert left is False
            assert status is S.RUNNING
            assert works[n].wake_seq == 1
            assert leases.renew(threads[n], token=works[n].token)
        seen["woken" if left else "stayed awake"] += 1
    assert seen.total() == rounds
    if jitter:
        assert min(seen["woken"], seen["stayed awake"]) > 0, seen


@pytest.mark.slow
def test_a_former_holder_never_commits_beside_the_new_one(real_db: str, settings: Any) -> None:
    settings.GATEPOST_LEASE_SECONDS = 0.001
    threads = made(60)
    drivers = [drive(thread, 1) for thread in threads]
    for thread in threads:
        expire(thread)

    def take_over(n: int) -> bool:
        work = leases.take_over(threads[n], owner="worker:2")
        if work is None:
            return False
        driver = Driver(work)
        driver.step({"append": {"log": ["second"]}})
        return True

    answers = race(60, lambda n: drivers[n].step({"append": {"log": ["first"]}}), take_over)
    seen: Counter[str] = Counter()
    for thread, (first, second) in zip(threads, answers, strict=True):
        log = queries.state_at(thread, head_of(thread))["log"]
        assert second is True or isinstance(second, ConcurrentModificationError), second
        if isinstance(first, UUID):  # an expired lease that nobody took still commits
            assert log in ([1, "first"], [1, "first", "second"])
        else:
            assert isinstance(first, LeaseLost)
            assert log == [1, "second"]
        seen[",".join(map(str, log))] += 1
        assert verify_thread(thread).intact
    assert seen.total() == 60


def test_rollback_against_a_step_leaves_one_head(real_db: str) -> None:
    threads = made(60)
    drivers = [drive(thread, 2) for thread in threads]
    heads = [head_of(thread) for thread in threads]
    firsts = [queries.checkpoint_by_number(thread, 0).id for thread in threads]

    def roll_back(n: int) -> str:
        store.roll_back(
            threads[n], checkpoint=firsts[n], undo=(), reason="", actor=OPERATOR, head=heads[n]
        )
        return "rolling back"

    answers = race(60, lambda n: drivers[n].step(), roll_back)
    won = outcomes(answers, ConcurrentModificationError)
    assert sum(won) == 60
    for thread, (step, back) in zip(threads, answers, strict=True):
        if back == "rolling back":
            assert isinstance(step, LeaseLost)
            assert status_of(thread) is S.ROLLING_BACK
        else:  # the plan was for another head: nothing beyond what was shown
            assert isinstance(back, StaleVersion)
            assert status_of(thread) is S.RUNNING


def test_a_due_sleeper_is_woken_once_by_many_sweeps(real_db: str) -> None:
    threads = made(30)
    for thread in threads:
        store.leave(acquired(thread), K.THREAD_SLEPT, wake_at_seconds=0.0)
    answers = race(3, *(lambda n: store.wake_sleepers(owner="sweep"),) * 3)
    assert sum(count for counts in answers for count in counts) == 30
    assert [kinds_of(thread).count("thread.woken") for thread in threads] == [1] * 30
    assert rows("SELECT DISTINCT status FROM gp_thread") == [("queued",)]


@pytest.mark.requirement("C26")
def test_a_suggested_title_never_replaces_that_of_who_renames_meanwhile(real_db: str) -> None:
    threads = made(30)
    drivers = [drive(thread) for thread in threads]

    def suggest(number: int) -> None:
        event = NewEvent(K.TITLE_SUGGESTED, {"node": "work", "title": "by the agent"}, "worker:1")
        drivers[number].step(events=[event])

    def rename(number: int) -> None:
        store.rename(threads[number], title="by a person", actor=OPERATOR)

    assert set(race(len(threads), suggest, rename)) == {(None, None)}
    first: Counter[str] = Counter()
    for thread in threads:
        assert one("SELECT title FROM gp_thread WHERE id = %s", (thread,)) == "by a person"
        assert verify_thread(thread).intact
        kinds = [kind for kind in kinds_of(thread) if kind.startswith(("title", "thread.renamed"))]
        first[kinds[0]] += 1
        [(transactions,)] = rows(
            "SELECT count(DISTINCT xid8) FROM gp_event WHERE thread_id = %s AND kind IN "
            "('title.suggested', 'checkpoint.committed') AND seq > 2",
            (thread,),
        )
        assert transactions == 1, "the title is part of the step's commit"
    assert len(first) == 2, f"not a race: {first}"
