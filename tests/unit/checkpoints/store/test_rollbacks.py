"""Rollback in the store: the head moves back, effects are undone once, and nothing is deleted."""

from __future__ import annotations

from uuid import UUID, uuid4

import pytest

from checkpoints import leases, queries, store
from checkpoints.chain import verify_thread
from checkpoints.errors import LeaseLost, NotAllowedNow, NotFound, StaleVersion
from checkpoints.queries.states import materialized
from checkpoints.state import deltas
from checkpoints.state.channels import Digests
from checkpoints.states import EventKind, Status
from tests.unit.checkpoints.builders import (
    OPERATOR,
    Driver,
    acquired,
    drive,
    effect,
    expire,
    head_of,
    kinds_of,
    make_thread,
    new_activity,
    one,
    rows,
    status_of,
)

pytestmark = pytest.mark.django_db
K = EventKind


def numbered(thread: UUID, number: int) -> UUID:
    return queries.checkpoint_by_number(thread, number).id


def roll_back(thread: UUID, number: int, *, undo: list[UUID] | None = None, **more: object) -> None:
    values = {"reason": "wrong parameters", "actor": OPERATOR, "head": head_of(thread)} | more
    store.roll_back(thread, checkpoint=numbered(thread, number), undo=undo or [], **values)  # type: ignore[arg-type]


@pytest.mark.requirement("A19")
def test_a_rollback_pauses_at_its_target_and_goes_on_with_other_parameters() -> None:
    thread = make_thread()
    driver = drive(thread, 2)
    second = head_of(thread)
    driver.step({"append": {"log": ["wrong"]}, "set": {"total": 99}})
    driver.step()
    log_before = rows("SELECT seq, hash FROM gp_event ORDER BY seq")
    past_before = rows("SELECT id, delta, state_hash FROM gp_checkpoint ORDER BY number")

    roll_back(thread, 2, reason="parameters of step 3")
    assert status_of(thread) is Status.ROLLING_BACK
    with pytest.raises(LeaseLost):  # who worked on it is out at once
        driver.step()
    again = drive(thread)
    assert again.work.rollback == {
        "target": str(second), "number": 2, "step": 2, "undo": [], "by": OPERATOR,
        "reason": "parameters of step 3", "run_on": False,
    }  # fmt: skip
    new = again.finish_rollback()
    assert status_of(thread) is Status.PAUSED
    row = queries.checkpoint(thread, new)
    assert (row.source, row.parent, row.parent_number, row.number, row.step, row.branch) == (
        "rollback", second, 2, 5, 2, 1,
    )  # fmt: skip
    assert new == head_of(thread)
    assert queries.state_at(thread, new) == queries.state_at(thread, second)
    assert one("SELECT rollback FROM gp_thread") is None

    # Nothing of the past is gone; what lies off the way is marked.
    assert rows("SELECT seq, hash FROM gp_event ORDER BY seq")[: len(log_before)] == log_before
    past = rows("SELECT id, delta, state_hash FROM gp_checkpoint ORDER BY number")
    assert past[: len(past_before)] == past_before
    assert [(c.number, c.abandoned) for c in queries.checkpoints(thread).rows] == [
        (5, False), (4, True), (3, True), (2, False), (1, False), (0, False),
    ]  # fmt: skip

    store.edit(thread, changes={"goal": "count to 3"}, reason="corrected", actor=OPERATOR)
    store.resume(thread, actor=OPERATOR)
    last = Driver(acquired(thread))
    last.step({"append": {"log": ["right"]}})
    assert (last.work.step, last.work.branch, last.work.number) == (3, 1, 7)
    assert last.state == {"goal": "count to 3", "log": [1, 2, "right"], "facts": {}, "total": 0}
    assert queries.state_at(thread, head_of(thread)) == last.state
    kinds = kinds_of(thread)
    assert kinds.index("rollback.started") < kinds.index("rollback.finished")
    assert verify_thread(thread).intact


def test_a_rollback_may_run_on_by_itself() -> None:
    thread = make_thread()
    drive(thread, 3)
    roll_back(thread, 1, run_on=True)
    drive(thread).finish_rollback(run_on=True)
    assert status_of(thread) is Status.QUEUED
    assert kinds_of(thread)[-1] == "rollback.run_on"
    assert drive(thread, 1).state["log"] == [1, 5]


def test_a_finished_thread_can_be_rolled_back_too() -> None:
    thread = make_thread()
    drive(thread, 2).step(leave_by=K.THREAD_SUCCEEDED)
    roll_back(thread, 0)
    drive(thread).finish_rollback()
    assert status_of(thread) is Status.PAUSED
    assert queries.state_at(thread, head_of(thread))["log"] == []


def test_what_cannot_be_rolled_back_is_refused_and_writes_nothing() -> None:
    thread, other = make_thread(), make_thread()
    drive(thread, 4)
    drive(other, 1)
    fork = store.fork(thread, checkpoint=numbered(thread, 2), changes={}, actor=OPERATOR)
    before = rows("SELECT id, version, last_seq, status FROM gp_thread ORDER BY id")
    plan = {"undo": (), "reason": "", "actor": OPERATOR}
    head = head_of(thread)
    with pytest.raises(NotFound, match="fork that one"):  # the base's past is not the fork's own
        store.roll_back(fork, checkpoint=numbered(thread, 1), head=head_of(fork), **plan)
    with pytest.raises(NotFound):
        store.roll_back(thread, checkpoint=head_of(other), head=head, **plan)
    with pytest.raises(NotFound):
        store.roll_back(uuid4(), checkpoint=head, head=head, **plan)
    with pytest.raises(NotAllowedNow, match="already at this checkpoint"):
        store.roll_back(thread, checkpoint=head, head=head, **plan)
    with pytest.raises(StaleVersion):
        roll_back(thread, 1, expected_version=1)
    with pytest.raises(StaleVersion):  # the plan was made for another head
        roll_back(thread, 1, head=numbered(thread, 3))
    assert rows("SELECT id, version, last_seq, status FROM gp_thread ORDER BY id") == before

    roll_back(thread, 2)
    with pytest.raises(NotAllowedNow, match="rolling_back"):
        roll_back(thread, 1)
    drive(thread).finish_rollback()
    with pytest.raises(NotAllowedNow, match="left this checkpoint behind"):
        roll_back(thread, 3)
    roll_back(thread, 1)
    drive(thread).finish_rollback()
    assert queries.state_at(thread, head_of(thread))["log"] == [1]
    assert verify_thread(thread).intact


def test_effects_are_undone_once_last_first_and_failures_stop_nothing() -> None:
    thread = make_thread()
    driver = drive(thread, 1)
    first, second = (effect(driver.work, f"send#{n}", undo="unsend") for n in range(2))
    driver.step()
    third = effect(driver.work, "publish#0", undo="unpublish")
    fates = queries.effects_after(thread, numbered(thread, 1))
    assert [(f.activity.id, f.fate) for f in fates] == [
        (third, "undoable"), (second, "undoable"), (first, "undoable"),
    ]  # fmt: skip
    roll_back(thread, 1, undo=[f.activity.id for f in fates])
    work = acquired(thread)
    assert work.rollback is not None
    assert work.rollback["undo"] == [str(third), str(second), str(first)]

    def undo(ident: UUID) -> bool:
        store.record_compensation(work, ident, kind=K.COMPENSATION_STARTED)
        return store.record_compensation(
            work, ident, kind=K.COMPENSATION_FINISHED, result={"gone": True}
        )

    assert undo(third)
    assert not store.record_compensation(work, third, kind=K.COMPENSATION_FINISHED)
    store.record_compensation(work, second, kind=K.COMPENSATION_STARTED)
    store.record_compensation(work, second, kind=K.COMPENSATION_FAILED, error="no answer")
    # The worker dies here: the next one sees what is undone already.
    expire(thread)
    rows("UPDATE gp_thread SET lease_token = NULL WHERE id = %s::uuid", (thread,))
    former, work = work, acquired(thread, owner="worker:2")
    with pytest.raises(LeaseLost):
        store.record_compensation(former, first, kind=K.COMPENSATION_STARTED)
    states = {ident: queries.activity(ident).state for ident in (first, second, third)}
    assert states == {first: "done", second: "done", third: "compensated"}
    assert queries.activity(third).undo_result == {"gone": True}
    assert undo(first)
    Driver(work).finish_rollback()
    kinds = kinds_of(thread)
    assert kinds.count("compensation.started") == 3
    assert kinds.count("compensation.finished") == 2
    assert kinds.count("compensation.failed") == 1
    assert verify_thread(thread).intact
    # What is undone is not offered again.
    assert queries.effects_after(thread, numbered(thread, 1)) == []
    roll_back(thread, 0)


def test_retrying_a_rollback_that_parked_goes_on_undoing() -> None:
    thread = make_thread()
    driver = drive(thread, 1)
    first, second = effect(driver.work, "send#0"), effect(driver.work, "send#1")
    driver.step()
    roll_back(thread, 1, undo=[second, first])
    work = acquired(thread)
    done = K.COMPENSATION_FINISHED
    assert store.record_compensation(work, second, kind=done, tool="send", result="gone")
    store.leave(work, K.THREAD_PARKED, reason="its code is missing")
    assert status_of(thread) is Status.ATTENTION

    head, last = head_of(thread), one("SELECT last_seq FROM gp_thread")
    store.retry(thread, actor=OPERATOR)
    assert status_of(thread) is Status.ROLLING_BACK
    [event] = queries.events_after(thread, last)
    assert (event.kind, event.actor) == ("rollback.retried", OPERATOR)
    with pytest.raises(NotAllowedNow):
        store.retry(thread, actor=OPERATOR)
    again = acquired(thread)
    assert again.rollback is not None
    assert again.rollback["undo"] == [str(second), str(first)]
    assert again.head == head
    # What was undone before it parked is not undone again.
    assert not store.record_compensation(again, second, kind=done, tool="send", result="twice")
    assert store.record_compensation(again, first, kind=done, tool="send", result="gone")
    Driver(again).finish_rollback()
    assert status_of(thread) is Status.PAUSED
    assert one("SELECT rollback FROM gp_thread") is None
    assert verify_thread(thread).intact


def test_retrying_after_a_finished_rollback_works_from_its_target() -> None:
    """Undone as far as it could be: the plan is over, what needs a person is the list."""
    thread = make_thread()
    driver = drive(thread, 2)
    roll_back(thread, 1)
    again = acquired(thread)
    target = numbered(thread, 1)
    state = queries.state_at(thread, target)
    root = Digests.of(state, materialized.reducers_of(again.agent_version)).root
    checkpoint = Driver(again).next_checkpoint(
        {}, step=1, branch=1, branch_start=3, parent=target, parent_number=1, source="rollback",
        state_hash=root, state_bytes=len(deltas.canonical(state)),
    )  # fmt: skip
    store.commit_step(again, checkpoint, leave_by=K.THREAD_PARKED, reason="Not undone: send")
    assert driver.work.head != head_of(thread)
    store.retry(thread, actor=OPERATOR)
    assert status_of(thread) is Status.QUEUED
    assert kinds_of(thread)[-1] == "thread.retried"


def test_cancelling_a_parked_rollback_ends_its_plan() -> None:
    thread = make_thread()
    drive(thread, 1)
    roll_back(thread, 0)
    store.leave(acquired(thread), K.THREAD_PARKED, reason="its code is missing")
    store.cancel(thread, actor=OPERATOR)
    assert one("SELECT rollback FROM gp_thread") is None


def test_the_same_position_on_another_branch_is_another_activity() -> None:
    thread = make_thread()
    driver = drive(thread, 1)
    once = effect(driver.work, "send#0")
    driver.step()
    roll_back(thread, 1)
    drive(thread).finish_rollback(run_on=True)
    again = drive(thread)
    assert again.work.step == 1
    twice = effect(again.work, "send#0")
    assert once != twice
    assert queries.activity(once).state == queries.activity(twice).state == "done"
    assert queries.activity(once).idempotency_key != queries.activity(twice).idempotency_key


def test_a_recorded_activity_is_never_written_over() -> None:
    driver = drive(make_thread())
    work = driver.work
    activity = new_activity(work, "load#0")
    store.report_progress(work, activity, {"done": 10, "total": 100})
    assert queries.activity(activity.id).progress == {"done": 10, "total": 100}
    store.record_activity(work, activity, error="no answer")
    assert queries.activity(activity.id).state == "failed"
    store.record_activity(work, activity, result=[1, 2])
    store.record_activity(work, activity, result=["other"])
    store.report_progress(work, activity, {"done": 0})
    result = queries.activity(activity.id)
    assert (result.state, result.result, result.error) == ("done", [1, 2], "")
    assert result.progress == {"done": 10, "total": 100}
    assert leases.renew(work.thread, token=work.token)
