"""Breakers stop what they select, touch nothing else, and a release leaves all as it was."""

from __future__ import annotations

import threading
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import connection, transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from uuid_utils.compat import uuid7

from checkpoints import leases, queries, store
from checkpoints.breakers.rule import BreakerRow
from checkpoints.chain.workspaces import verify_workspace
from checkpoints.errors import LeaseLost, NotAllowedNow, NotFound
from checkpoints.queries.why import why_waiting
from checkpoints.records import STOP, NewActivity, Position
from checkpoints.states import EventKind, Status
from checkpoints.views import ThreadRow
from tests.unit.checkpoints.builders import (
    OPERATOR,
    Driver,
    acquired,
    bring_to,
    expire,
    make_agent,
    make_thread,
    make_workspace,
    one,
    rows,
)

pytestmark = pytest.mark.requirement("G01")

WHY = "Supplier prices are wrong."
CAN_STAND: dict[str, Status] = {str(status): status for status in Status}
QUEUE = "gatepost"


def trip(workspace: UUID, **selection: Any) -> BreakerRow:
    return store.trip_breaker(workspace, selection, reason=WHY, actor=OPERATOR)


def release(breaker: BreakerRow, workspace: UUID, **some: Any) -> int:
    _, n = store.release_breaker(
        breaker.id, workspace=workspace, reason="Prices are right.", actor=OPERATOR, **some
    )
    return n


def row_of(thread: UUID, workspace: UUID) -> ThreadRow:
    return queries.thread(thread, workspace=workspace)


def standings(workspace: UUID) -> dict[UUID, tuple[Any, ...]]:
    """All that says where each thread of a workspace progress."""
    result = rows(
        "SELECT id, status, status_since, version, last_seq, waiting_on::text, wake_at, pause_at, "
        "head FROM gp_thread WHERE workspace_id = %s",
        (workspace,),
    )
    return {row[0]: row[1:] for row in result}


def claimed(workspace: UUID) -> set[UUID]:
    """The threads of a workspace that can be taken now, each taken and given back."""
    taken = set()
    for (thread,) in rows("SELECT id FROM gp_thread WHERE workspace_id = %s", (workspace,)):
        work = leases.acquire(thread, owner="worker:1")
        if work is not None:
            taken.add(thread)
            store.hand_back(work, reason="looked")
    return taken


# ---- claims --------------------------------------------------------------------------------------


@pytest.mark.django_db
def test_nobody_takes_a_stopped_thread_until_it_is_released() -> None:
    workspace, other = make_workspace(), make_workspace()
    thread, beside = make_thread(workspace=workspace), make_thread(workspace=other)
    breaker = trip(workspace)
    assert leases.acquire(thread, owner="worker:1") is None
    assert leases.next_queued(QUEUE) == leases.Turn(beside, other)
    assert store.stranded_threads(queued_for_seconds=0) == [(beside, "gatepost")]
    row = row_of(thread, workspace)
    assert row.status is Status.QUEUED
    assert row.stopped is not None
    assert (row.stopped.id, row.stopped.reason, row.stopped.by) == (breaker.id, WHY, OPERATOR)
    assert row_of(beside, other).stopped is None
    why = why_waiting(row)
    assert (why.kind, why.sentence) == ("breaker", f"A breaker stops it: {WHY}")
    late = make_thread(workspace=workspace)
    assert leases.acquire(late, owner="worker:1") is None
    assert release(breaker, workspace) == 2
    assert row_of(thread, workspace).stopped is None
    assert leases.next_queued(QUEUE) == leases.Turn(thread, workspace)
    assert claimed(workspace) == {thread, late}


@pytest.mark.django_db
def test_an_expired_lease_is_not_taken_over_meanwhile(settings: Any) -> None:
    settings.GATEPOST_LEASE_SECONDS = 0.001  # the server has been up for longer
    workspace = make_workspace()
    thread = make_thread(workspace=workspace)
    acquired(thread)
    breaker = trip(workspace)
    expire(thread)
    assert leases.take_over(thread, owner="worker:2") is None
    assert store.stranded_threads(queued_for_seconds=0) == []
    assert why_waiting(row_of(thread, workspace)).kind == "breaker"
    release(breaker, workspace)
    work = leases.take_over(thread, owner="worker:2")
    assert work is not None
    assert work.wish == ""


@pytest.mark.django_db
def test_a_rollback_is_not_taken_meanwhile() -> None:
    workspace = make_workspace()
    thread = make_thread(workspace=workspace)
    bring_to(thread, Status.ROLLING_BACK)
    breaker = trip(workspace)
    assert leases.acquire(thread, owner="worker:1") is None
    release(breaker, workspace)
    assert leases.acquire(thread, owner="worker:1") is not None


# ---- threads at work -----------------------------------------------------------------------------


@pytest.mark.django_db
def test_a_worker_learns_of_it_with_what_it_writes_and_gives_the_thread_back() -> None:
    workspace = make_workspace()
    driver = Driver(acquired(make_thread(workspace=workspace)))
    work = driver.work
    breaker = trip(workspace)
    assert not work.is_stopped
    driver.step()  # the step at work is kept
    assert (work.is_stopped, work.wish_by) == (True, str(breaker.id))
    why = why_waiting(row_of(work.thread, workspace))
    assert why.kind == "breaker"
    assert why.sentence.endswith("Its worker finishes its call at work and gives it back.")
    store.hand_back(work, reason="a breaker stops it")
    (event,) = [
        e for e in queries.events(work.thread).rows if e.kind == EventKind.THREAD_HANDED_BACK
    ]
    assert event.data == {"reason": "a breaker stops it", "breaker": str(breaker.id)}
    release(breaker, workspace)
    again = acquired(work.thread)
    assert (again.wish, again.step) == ("", 1)


@pytest.mark.django_db
def test_no_effect_starts_once_it_is_open() -> None:
    workspace = make_workspace()
    work = acquired(make_thread(workspace=workspace))

    def effect(key: str) -> NewActivity:
        at = Position(work.branch, work.step + 1, "work", 0, key)
        return NewActivity(
            id=uuid7(), position=at, kind="effect", tool="pay", args={}, idempotency_key=key
        )

    before = effect("before")
    assert store.start_activity(work, before)
    breaker = trip(workspace)
    # What had begun is recorded: it happened.
    store.finish_activity(work, before, state="done", result=1)
    assert work.is_stopped
    assert store.start_activity(work, effect("after"), only_if=("TRUE", ())) is False
    assert store.start_activity(work, effect("after")) is False
    assert one("SELECT count(*) FROM gp_activity WHERE thread_id = %s", (work.thread,)) == 1
    store.hand_back(work, reason="a breaker stops it")
    with pytest.raises(LeaseLost):
        store.start_activity(work, effect("after"))
    release(breaker, workspace)
    work = acquired(work.thread)
    assert store.start_activity(work, effect("after"))


@pytest.mark.django_db
def test_a_heartbeat_tells_of_it_where_a_step_writes_rarely() -> None:
    workspace = make_workspace()
    work = acquired(make_thread(workspace=workspace))
    assert leases.beat(work.thread, token=work.token) == ("", "")
    breaker = trip(workspace)
    assert leases.beat(work.thread, token=work.token) == (STOP, str(breaker.id))
    assert leases.renew(work.thread, token=work.token)
    assert leases.beat(work.thread, token=uuid4()) is None


@pytest.mark.django_db
def test_a_pause_that_a_person_wants_goes_before_the_breaker() -> None:
    workspace = make_workspace()
    before, after = (Driver(acquired(make_thread(workspace=workspace))) for _ in range(2))
    store.pause(before.work.thread, actor="user:7")
    breaker = trip(workspace)
    store.pause(after.work.thread, actor="user:7")
    for driver in (before, after):
        driver.step()
        assert (driver.work.wish, driver.work.wish_by) == ("pause", "user:7")
        store.leave(driver.work, EventKind.THREAD_PAUSED, reason="Paused by a person")
    release(breaker, workspace)
    assert claimed(workspace) == set()
    assert {row[0] for row in standings(workspace).values()} == {"paused"}


@pytest.mark.django_db
def test_a_trip_writes_to_no_thread_but_those_at_work() -> None:
    """5 s for a whole fleet: the trip's cost grows with the leases, not with the threads."""
    workspace = make_workspace()
    for _ in range(5):
        make_thread(workspace=workspace)
    work = acquired(make_thread(workspace=workspace))
    before = dict(rows("SELECT id, xmin::text FROM gp_thread"))
    trip(workspace)
    after = dict(rows("SELECT id, xmin::text FROM gp_thread"))
    changed = {t for t in before if before[t] != after[t]}
    assert changed <= {work.thread}
    assert one("SELECT wish FROM gp_thread WHERE id = %s", (work.thread,)) == STOP


# ---- exact restore -------------------------------------------------------------------------------


@pytest.mark.django_db
def test_every_status_stands_as_before_after_a_release() -> None:
    workspace = make_workspace()
    for status in Status:
        if status is not Status.RUNNING:
            bring_to(make_thread(workspace=workspace), status)
    store.pause(make_thread(workspace=workspace), actor="user:7")
    free = claimed(workspace)
    before = standings(workspace)
    breaker = trip(workspace)
    assert claimed(workspace) == set()
    assert standings(workspace) == before
    release(breaker, workspace)
    assert standings(workspace) == before
    assert claimed(workspace) == free


SELECTIONS = st.fixed_dictionaries(
    {},
    optional={
        "agent": st.sampled_from(["counting", "paying", "nobody"]),
        "labels": st.dictionaries(st.sampled_from(["team", "env"]), st.sampled_from("ab")),
        "q": st.sampled_from(["invoice", "INVOICE 1", "%", "none"]),
        "depth": st.integers(0, 1),
    },
)


@pytest.mark.slow
@pytest.mark.django_db
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(chosen=st.lists(SELECTIONS, min_size=1, max_size=3), order=st.randoms(use_true_random=False))
def test_breakers_stop_exactly_their_selections_in_any_order(
    chosen: list[dict[str, Any]], order: Any
) -> None:
    """A thread can be taken exactly while no open breaker selects it."""
    with transaction.atomic():
        workspace = make_workspace()
        versions = {name: make_agent(name) for name in ("counting", "paying")}
        threads: dict[UUID, dict[str, Any]] = {}
        for i, (agent, version) in enumerate(versions.items()):
            for labels in ({}, {"team": "a"}, {"team": "b", "env": "a"}):
                title = f"Invoice {i}"
                thread = make_thread(workspace=workspace, agent=version, labels=labels, title=title)
                threads[thread] = {"agent": agent, "labels": labels, "title": title}
        before = standings(workspace)

        def matches(selection: dict[str, Any], thread: dict[str, Any]) -> bool:
            return (
                selection.get("agent", thread["agent"]) == thread["agent"]
                and selection.get("labels", {}).items() <= thread["labels"].items()
                and selection.get("q", "").lower() in thread["title"].lower()
                and selection.get("depth", 0) == 0
            )

        def free() -> set[UUID]:
            return {
                t
                for t, about in threads.items()
                if not any(matches(b.selection, about) for b in open_ones.values())  # type: ignore[arg-type]
            }

        def takeable() -> set[UUID]:
            # Not taken: standings would differ.
            return {t for t in threads if row_of(t, workspace).stopped is None}

        open_ones = {}
        for selection in chosen:
            breaker = trip(workspace, **selection)
            open_ones[breaker.id] = breaker
            assert takeable() == free()
        closing = list(open_ones.values())
        order.shuffle(closing)
        for breaker in closing:
            release(breaker, workspace)
            del open_ones[breaker.id]
            assert takeable() == free()
        assert takeable() == set(threads)
        assert standings(workspace) == before
        transaction.set_rollback(True)


@pytest.mark.django_db
def test_other_selections_of_the_board() -> None:
    workspace = make_workspace()
    root = make_thread(workspace=workspace)
    child = make_thread(workspace=workspace, parent=root)
    rows("UPDATE gp_thread SET root = %s, depth = 1 WHERE id = %s", (root, child))
    alone = make_thread(workspace=workspace)

    def stopped(**selection: Any) -> set[UUID]:
        breaker = trip(workspace, **selection)
        result = {t for t in (root, child, alone) if row_of(t, workspace).stopped is not None}
        touched = queries.touched(workspace, selection)
        assert touched.total == len(result)
        release(breaker, workspace)
        return result

    assert stopped() == {root, child, alone}
    assert stopped(root=str(root)) == {root, child}
    assert stopped(root=str(child)) == {child}
    assert stopped(parent=str(root)) == {child}
    assert stopped(depth=1) == {child}
    assert stopped(q=str(alone)[:13]) >= {alone}
    assert stopped(framework="Gatepost") == {root, child, alone}
    assert stopped(framework="LangGraph") == set()
    assert stopped(damaged=True) == set()


# ---- staged release ------------------------------------------------------------------------------


@pytest.mark.django_db
def test_some_go_first_and_the_rest_later() -> None:
    workspace = make_workspace()
    threads = {make_thread(workspace=workspace) for _ in range(8)}
    paused = make_thread(workspace=workspace)
    store.pause(paused, actor="user:7")
    breaker = trip(workspace)
    assert release(breaker, workspace, number=2) == 2
    first = claimed(workspace)
    assert len(first) == 2
    progress = queries.breaker_progress(workspace)[breaker.id]
    assert (progress.stopped, progress.at_work) == (6, 0)
    assert progress.released == {Status.QUEUED: 2}
    assert progress.waits <= 1  # the paused one, where its workspace was not released
    going = leases.acquire(min(first), owner="worker:1")
    assert going is not None
    store.leave(going, EventKind.THREAD_SUCCEEDED)
    progress = queries.breaker_progress(workspace)[breaker.id]
    assert progress.released == {Status.QUEUED: 1, Status.SUCCEEDED: 1}
    assert release(breaker, workspace, share=0.5) == 3
    second = claimed(workspace)
    assert first - {going.thread} < second
    assert len(second) == 4
    row = queries.breaker(breaker.id, workspace=workspace)
    assert (row.is_open, row.releases, row.released_by) == (True, 2, OPERATOR)
    assert release(breaker, workspace) == 3
    assert claimed(workspace) == threads - {going.thread}
    assert row_of(paused, workspace).status is Status.PAUSED
    row = queries.breaker(breaker.id, workspace=workspace)
    assert (row.is_open, row.releases) == (False, 3)
    with pytest.raises(NotAllowedNow):
        release(breaker, workspace)


@pytest.mark.django_db
def test_a_part_of_nothing_is_refused_and_leaves_it_open() -> None:
    workspace = make_workspace()
    breaker = trip(workspace)
    with pytest.raises(NotAllowedNow, match="Release the rest"):
        release(breaker, workspace, number=5)
    assert queries.breaker(breaker.id, workspace=workspace).is_open
    assert release(breaker, workspace) == 0
    with pytest.raises(NotFound):
        queries.breaker(breaker.id, workspace=make_workspace())


# ---- the record ----------------------------------------------------------------------------------


@pytest.mark.django_db
def test_each_trip_and_release_is_an_event_that_verification_folds() -> None:
    workspace = make_workspace()
    make_thread(workspace=workspace)
    breaker = trip(workspace, agent="counting")
    release(breaker, workspace, number=1)
    release(breaker, workspace)
    events = [
        (e.kind, e.actor, e.data["reason"], e.data.get("released"), e.data.get("rest"))
        for e in queries.workspace_events(workspace).rows
        if e.kind.startswith("breaker.")
    ]
    assert sorted(events, key=str) == sorted(
        [
            ("breaker.tripped", OPERATOR, WHY, None, None),
            ("breaker.released", OPERATOR, "Prices are right.", 1, False),
            ("breaker.released", OPERATOR, "Prices are right.", 0, True),
        ],
        key=str,
    )
    assert verify_workspace(workspace).intact
    for column, value in (
        ("selection", "'{}'"),
        ("reason", "'other'"),
        ("opened_by", "'user:9'"),
        ("closed_at", "NULL"),
        ("released_to", "7"),
    ):
        with transaction.atomic():
            rows(f"UPDATE gp_breaker SET {column} = {value} WHERE id = %s", (breaker.id,))
            report = verify_workspace(workspace)
            assert not report.intact
            assert report.what is not None
            assert f"was altered past the log: {column}" in report.what
            transaction.set_rollback(True)
    with transaction.atomic():
        rows(
            "INSERT INTO gp_breaker (id, workspace_id, selection, reason, opened_by) "
            "VALUES (gen_random_uuid(), %s, '{}', 'planted', 'user:9')",
            (workspace,),
        )
        assert not verify_workspace(workspace).intact
        transaction.set_rollback(True)


# ---- what it costs -------------------------------------------------------------------------------


@pytest.mark.django_db
@pytest.mark.parametrize("is_open", [False, True])
def test_a_step_asks_no_more_than_without_breakers(
    is_open: bool, django_assert_num_queries: Any
) -> None:
    workspace = make_workspace()
    driver = Driver(acquired(make_thread(workspace=workspace)))
    driver.step()  # the first one of a process reads the version's channels
    if is_open:
        trip(workspace)
    with django_assert_num_queries(1) as counted:
        driver.step()
    assert "gp_breaker" not in counted[0]["sql"]
    thread = make_thread(workspace=make_workspace())
    with django_assert_num_queries(1):
        assert leases.acquire(thread, owner="worker:1") is not None


# ---- a claim at the same time --------------------------------------------------------------------


def test_a_claim_that_began_before_the_trip_is_marked_with_the_next_round(real_db: None) -> None:
    workspace = make_workspace()
    thread = make_thread(workspace=workspace)
    claims, tripped = threading.Event(), threading.Event()
    taken: list[Any] = []

    def claim() -> None:
        try:
            with transaction.atomic():
                taken.append(leases.acquire(thread, owner="worker:1"))
                claims.set()
                assert tripped.wait(20)  # its commit comes after the trip's
        finally:
            connection.close()

    other = threading.Thread(target=claim)
    other.start()
    assert claims.wait(20)
    trip(workspace)
    tripped.set()
    other.join()
    assert taken[0] is not None
    assert store.mark_stopped() in (0, 1)
    assert leases.beat(thread, token=taken[0].token) is not None
    assert one("SELECT wish FROM gp_thread WHERE id = %s", (thread,)) == STOP
    assert store.mark_stopped() == 0
