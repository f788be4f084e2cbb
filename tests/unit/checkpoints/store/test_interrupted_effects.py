"""What takes a thread away says which effect had started: it is unknown whether that happened."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from checkpoints import queries, store
from checkpoints.chain import verify_thread
from checkpoints.errors import LeaseLost, NotAllowedNow
from checkpoints.queries.why import why_waiting
from checkpoints.states import Status
from tests.unit.checkpoints.builders import (
    OPERATOR,
    drive,
    effect,
    head_of,
    kinds_of,
    make_agent,
    make_thread,
    make_workspace,
    new_activity,
    status_of,
)
from tests.unit.checkpoints.racing import race


def last_events(thread: UUID, number: int) -> list[Any]:
    return queries.events_after(thread, 0)[-number:]


def intact(thread: UUID) -> None:
    report = verify_thread(thread)
    assert report.intact, report.what


def test_a_cancel_makes_a_started_effect_unknown(db: None) -> None:
    workspace = make_workspace()
    thread = make_thread(workspace=workspace)
    driver = drive(thread, 1)
    ended, ident = effect(driver.work, "mail#0"), effect(driver.work, "publish#0", state="started")
    message = store.cancel(thread, actor=OPERATOR, reason="enough")

    assert message == "publish had started; whether it happened is unknown."
    activity = queries.activity(ident)
    assert (activity.state, activity.finished_at is not None) == ("unknown", True)
    assert "cancelled while this was under way" in activity.error
    assert queries.activity(ended).state == "done"
    marked, cancelled = last_events(thread, 2)
    assert (marked.kind, marked.data["state"]) == ("effect.failed", "unknown")
    assert marked.data["idempotency_key"] == activity.idempotency_key
    assert cancelled.kind == "thread.cancelled"
    assert cancelled.data["unknown"] == [
        {"activity": str(ident), "tool": "publish", "idempotency_key": activity.idempotency_key}
    ]
    row = queries.thread(thread, workspace=workspace)
    assert row.status_reason == message
    assert why_waiting(row).sentence == f"The thread was cancelled. {message}"
    with pytest.raises(LeaseLost):
        driver.step()
    intact(thread)


def test_a_rollback_makes_a_started_effect_unknown_and_undoes_the_others(db: None) -> None:
    thread = make_thread()
    first = head_of(thread)
    driver = drive(thread, 1)
    ended = effect(driver.work, "mail#0", undo="take_back")
    ident = effect(driver.work, "publish#0", undo="unpublish", state="started")
    store.roll_back(
        thread,
        checkpoint=first,
        undo=[ended],
        reason="wrong",
        actor=OPERATOR,
        head=driver.work.head,
    )
    assert queries.activity(ident).state == "unknown"
    marked, started = last_events(thread, 2)
    assert marked.data["activity"] == str(ident)
    assert started.data["unknown"][0]["tool"] == "publish"
    assert [f.fate for f in queries.effects_after(thread, first)] == ["unknown", "undoable"]
    intact(thread)


def test_without_one_nothing_is_added(db: None) -> None:
    thread = make_thread()
    driver = drive(thread, 1)
    effect(driver.work, "mail#0")
    assert store.cancel(thread, actor=OPERATOR) == ""
    assert kinds_of(thread)[-2:] == ["effect.finished", "thread.cancelled"]
    assert "unknown" not in last_events(thread, 1)[0].data
    with pytest.raises(NotAllowedNow):
        store.cancel(thread, actor=OPERATOR)


def test_a_second_attempt_is_told_as_one(db: None) -> None:
    thread = make_thread()
    driver = drive(thread)
    again = new_activity(driver.work, "publish#0", kind="effect", attempts=2)
    store.start_activity(driver.work, again)
    store.cancel(thread, actor=OPERATOR)
    assert last_events(thread, 2)[0].data["attempt"] == 2
    intact(thread)


@pytest.mark.slow
@pytest.mark.hazard
def test_a_cancel_against_the_end_of_an_effect_tells_the_truth(real_db: str) -> None:
    rounds = 60
    workspace, agent = make_workspace(), make_agent()
    drivers = [drive(make_thread(workspace=workspace, agent=agent)) for _ in range(rounds)]
    effects = [new_activity(d.work, "publish#0", kind="effect") for d in drivers]
    for driver, begun in zip(drivers, effects, strict=True):
        store.start_activity(driver.work, begun)

    def finish(number: int) -> str:
        store.finish_activity(drivers[number].work, effects[number], state="done", result={})
        return "done"

    def cancel(number: int) -> str:
        return store.cancel(drivers[number].work.thread, actor=OPERATOR)

    payload = {"done": 0, "unknown": 0}
    for number, (finished, message) in enumerate(race(rounds, finish, cancel)):
        thread = drivers[number].work.thread
        state = queries.activity(effects[number].id).state
        if finished == "done":
            assert (state, message) == ("done", "")
        else:
            assert isinstance(finished, LeaseLost)
            assert (state, "unknown" in message) == ("unknown", True)
        payload[state] += 1
        assert status_of(thread) is Status.CANCELLED
        intact(thread)
    assert sum(payload.values()) == rounds
