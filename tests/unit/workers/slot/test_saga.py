"""SagaManager: as the article writes it, and durable where a compensation can be named."""

from __future__ import annotations

import functools
from typing import Any
from uuid import UUID

import pytest

from checkpoints import leases, queries, store
from checkpoints.chain import verify_thread
from checkpoints.states import Status
from checkpoints.views import ThreadRow
from gatepost.contrib import saga
from gatepost.contrib.saga import SagaManager
from tests.support.logs import logs_of
from tests.unit.checkpoints.builders import expire
from tests.unit.workers.graphs.effects import saga_samples as office
from tests.unit.workers.graphs.effects.saga_samples import (
    calls,
    fails,
    release,
    release_room,
    release_seat,
)
from workers.engine import rollback
from workers.slot import loop, saga_record
from workers.slot.saga_record import as_data


class Log:
    """A logger with the three methods that the article uses."""

    def __init__(self) -> None:
        self.messages: list[tuple[str, str]] = []

    def __getattr__(self, level: str) -> Any:
        return lambda text: self.messages.append((level, text))


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    for item in (calls, office.keys, fails):
        item.clear()
    settings.GATEPOST_UNDO_PAUSES = []
    monkeypatch.setattr(rollback, "PAUSES", ())


def fail(text: str = "declined") -> None:
    raise ValueError(text)


# ---- as the article writes it ----


@pytest.mark.requirement("C24")
def test_steps_are_logged_and_the_answer_says_whether_all_were_done() -> None:
    log, done = Log(), []
    saga = SagaManager(logger=log)
    steps = [(n, functools.partial(done.append, n), lambda: calls.append("?")) for n in "ab"]
    assert saga.execute_workflow(steps) is True
    assert done == ["a", "b"]
    assert log.messages == [("info", "Executing step: a"), ("info", "Executing step: b")]
    assert calls == []
    assert len(saga.compensations) == 2


@pytest.mark.requirement("C21")
@pytest.mark.requirement("C22")
@pytest.mark.requirement("C24")
def test_when_step_three_fails_the_two_before_it_are_taken_back_last_first() -> None:
    log = Log()
    saga = SagaManager(log)
    answer = saga.execute_workflow([
        ("one", lambda: calls.append("one"), lambda: calls.append("undo one")),
        ("two", lambda: calls.append("two"), lambda: calls.append("undo two")),
        ("three", fail, lambda: calls.append("undo three")),
        ("four", lambda: calls.append("four"), lambda: calls.append("undo four")),
    ])  # fmt: skip
    assert answer is False
    # The failed step has no compensation: it is registered only after its success.
    assert calls == ["one", "two", "undo two", "undo one"]
    assert log.messages == [
        ("info", "Executing step: one"),
        ("info", "Executing step: two"),
        ("info", "Executing step: three"),
        ("error", "Failed at step 'three': declined. Triggering rollback..."),
    ]


@pytest.mark.requirement("C23")
def test_a_failing_compensation_is_critical_and_the_rest_still_run() -> None:
    log = Log()
    saga = SagaManager(log)
    saga.register_compensation(calls.append, "first")
    saga.register_compensation(lambda: fail("no answer"))
    saga.register_compensation(lambda *, what: calls.append(what), what="last")
    saga.rollback()
    assert calls == ["last", "first"]
    assert log.messages == [("critical", "Compensating transaction failed: no answer")]
    saga.rollback()  # what was taken back is not taken back again
    assert calls == ["last", "first"]
    assert len(log.messages) == 2


def test_without_a_logger_nothing_is_said_and_all_is_done() -> None:
    saga = SagaManager()
    assert not saga.execute_workflow([("one", lambda: None, lambda: calls.append("back")),
                                      ("two", fail, None)])  # fmt: skip
    assert calls == ["back"]


@pytest.mark.parametrize(
    ("call", "args"),
    [
        (lambda: None, ()),
        (office.Office().close, ()),
        (functools.partial(release, "x"), ()),
        (release, ({1, 2},)),
        (release, (("a", "b"),)),
        (release, (float("nan"),)),
        (release, (object(),)),
    ],
)
def test_what_no_other_process_could_call_stays_here_and_the_log_says_so(
    call: Any, args: tuple[Any, ...]
) -> None:
    assert as_data(call, args, {}) is None
    with logs_of(saga) as logs:
        SagaManager().register_compensation(call, *args)
    (entry,) = logs
    assert (entry["event"], entry["log_level"]) == ("saga.in_process", "warning")
    assert "lost with this process" in entry["why"]


def test_a_module_function_is_named() -> None:
    assert as_data(release, ("x",), {}) == {
        "call": "tests.unit.workers.graphs.effects.saga_samples:release",
        "args": ["x"], "kwargs": {},
    }  # fmt: skip
    assert as_data(office.Office.close, (), {}) is not None


# ---- durable ----


@pytest.fixture
def workspace(db: None) -> UUID:
    return store.create_workspace("sagas", actor="user:0")


def thread_of(workspace: UUID) -> ThreadRow:
    (row,) = queries.threads(workspace=workspace).rows
    return row


def states(thread: UUID) -> list[str]:
    return [a.state for a in reversed(queries.activities(thread)) if a.kind == "effect"]


def work_on(thread: UUID) -> ThreadRow:
    """As a worker of this product would."""
    work = leases.acquire(thread, owner="worker:test") or leases.take_over(
        thread, owner="worker:test"
    )
    assert work is not None
    loop.work_on(work)
    return queries.thread(thread, workspace=work.workspace)


@pytest.mark.requirement("C25")
def test_named_compensations_are_written_before_they_are_needed(workspace: UUID) -> None:
    seen: list[Any] = []

    def look() -> None:
        row = thread_of(workspace)
        seen.append((row.status, states(row.id)))

    saga = SagaManager(workspace=workspace)
    assert saga.execute_workflow([
        ("seat", look, release_seat), ("room", look, release_room), ("look", look, None),
    ])  # fmt: skip
    assert seen == [
        ("running", ["started"]),
        ("running", ["done", "started"]),
        ("running", ["done", "done"]),
    ]
    row = thread_of(workspace)
    assert (row.status, row.agent, row.title, row.lease_owner) == (
        Status.SUCCEEDED, "saga", "Saga: seat", "",
    )  # fmt: skip
    assert verify_thread(row.id).intact
    # Also what has succeeded can be taken back by its own process.
    saga.rollback()
    assert calls == ["release room", "release seat"]
    row = thread_of(workspace)
    assert (row.status, states(row.id)) == (Status.FAILED, ["compensated", "compensated"])
    assert verify_thread(row.id).intact


def test_named_and_unnamed_compensations_keep_their_order(workspace: UUID) -> None:
    log = Log()
    saga = SagaManager(log, workspace=workspace, title="Trip")
    answer = saga.execute_workflow([
        ("seat", lambda: None, release_seat),
        ("car", lambda: None, lambda: calls.append("release car")),
        ("room", lambda: None, release_room),
        ("pay", fail, release_room),
    ])  # fmt: skip
    assert answer is False
    assert calls == ["release room", "release car", "release seat"]
    row = thread_of(workspace)
    assert (row.title, row.status) == ("Trip", Status.FAILED)
    assert row.status_reason.startswith("Failed at step 'pay': declined. Undone: ")
    assert states(row.id) == ["compensated", "compensated", "failed"]
    assert verify_thread(row.id).intact


@pytest.mark.requirement("C23")
def test_a_named_compensation_that_fails_leaves_the_thread_to_people(workspace: UUID) -> None:
    fails.add("room")
    log = Log()
    saga = SagaManager(log, workspace=workspace)
    assert not saga.execute_workflow([
        ("seat", lambda: None, release_seat), ("room", lambda: None, release_room),
        ("pay", fail, None),
    ])  # fmt: skip
    assert calls == ["release room", "release seat"]
    assert log.messages[-1] == ("critical", "Compensating transaction failed: room does not answer")
    row = thread_of(workspace)
    assert row.status is Status.ATTENTION
    assert "OSError: room does not answer" in row.status_reason
    fails.clear()
    store.retry(row.id, actor="user:1")
    assert work_on(row.id).status is Status.FAILED
    assert calls == ["release room", "release seat", "release room"]
    assert verify_thread(row.id).intact


def test_registered_by_hand_it_waits_for_what_people_say(workspace: UUID) -> None:
    saga = SagaManager(workspace=workspace)
    saga.register_compensation(release, "one")
    saga.register_compensation(office.refund, "9.90")
    row = thread_of(workspace)
    assert (row.status, states(row.id)) == (Status.PAUSED, ["done", "done"])
    saga.rollback()
    assert calls == ["refund 9.90", "release one"]
    (key,) = office.keys
    (effect,) = [a for a in queries.activities(row.id) if a.undo.endswith("refund")]
    assert key == f"undo:{effect.idempotency_key}"
    assert thread_of(workspace).status is Status.FAILED


@pytest.mark.requirement("C25")
@pytest.mark.parametrize("dies", ["forward", "back"])
def test_when_its_process_dies_a_worker_takes_back_what_was_done(
    workspace: UUID, dies: str, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    class Killed(BaseException):
        pass

    def killed() -> None:
        raise Killed

    if dies == "back":
        monkeypatch.setattr(saga_record.Record, "finish_undo", lambda _: killed())
        fails.add("room")
    with pytest.raises(Killed):
        SagaManager(workspace=workspace).execute_workflow([
            ("seat", lambda: None, release_seat),
            ("car", lambda: None, lambda: calls.append("release car")),
            ("room", lambda: None, release_room),
            ("pay", killed if dies == "forward" else fail, release_room),
        ])  # fmt: skip
    row = thread_of(workspace)
    before = calls[:]
    assert row.lease_owner.startswith("saga:")
    fails.clear()
    settings.GATEPOST_LEASE_SECONDS = 2.0  # nobody takes over before the server is older
    expire(row.id)
    after = work_on(row.id)
    while after.status is Status.ROLLING_BACK:
        after = work_on(row.id)
    # The worker knows what is written; the car's undo lived in the process that died.
    assert after.status is Status.FAILED if dies == "forward" else Status.ATTENTION
    if dies == "forward":
        assert calls == ["release room", "release seat"]
        assert "nobody knows whether it happened" in after.status_reason
    else:
        assert before == ["release room", "release car", "release seat"]
        assert calls == before, "it had been tried as often as it may; a person retries"
        store.retry(row.id, actor="user:1")
        assert work_on(row.id).status is Status.FAILED
        assert calls == [*before, "release room"]
    assert verify_thread(row.id).intact


def test_a_process_that_stood_still_undoes_nothing_a_second_time(
    workspace: UUID, settings: Any
) -> None:
    def stand_still() -> None:
        settings.GATEPOST_LEASE_SECONDS = 2.0
        expire(thread_of(workspace).id)
        while work_on(thread_of(workspace).id).status is Status.ROLLING_BACK:
            pass

    log = Log()
    saga = SagaManager(log, workspace=workspace)
    assert not saga.execute_workflow([
        ("seat", lambda: None, release_seat),
        ("car", lambda: None, lambda: calls.append("release car")),
        ("room", stand_still, release_room),
    ])  # fmt: skip
    # The worker gave the seat back; the room it knew nothing of, and the car was this process's.
    assert calls == ["release seat", "release car"]
    row = thread_of(workspace)
    assert (row.status, states(row.id)) == (Status.FAILED, ["compensated", "started"])
    assert [level for level, _ in log.messages] == ["info", "info", "info", "error"]


def test_what_another_installation_signed_is_not_called(workspace: UUID, settings: Any) -> None:
    saga = SagaManager(workspace=workspace)
    saga.register_compensation(release, "one")
    settings.SECRET_KEY = "another key, as on the machine it was brought from"
    saga.rollback()
    row = thread_of(workspace)
    assert (calls, row.status) == ([], Status.ATTENTION)
    assert "was registered in another installation" in row.status_reason


def test_within_an_activity_the_saga_is_a_child_of_the_thread(workspace: UUID) -> None:
    from tests.unit.workers.conftest import bench_of
    from tests.unit.workers.graphs.effects import saga_agent

    bench = bench_of(saga_agent)
    parent = bench.start()
    row = bench.advance(parent)
    assert (row.status, bench.state(parent)["booked"]) == (Status.SUCCEEDED, False)
    assert calls == ["release seat"]
    (child,) = queries.threads(queries.Selection(agent="saga"), workspace=bench.workspace).rows
    assert (child.parent, child.status) == (parent, Status.FAILED)
