"""Long activities are interrupted by people, worker crashes and days; nothing paid is lost."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.db import connection

from checkpoints import queries, store
from tests.faults.bench import LEASE, SWEEP, Case, Field, Worker, workers

pytestmark = pytest.mark.hazard
GOES_ON = LEASE + SWEEP + 12
NINE_DAYS = 9 * 86_400


def started(case: Case) -> tuple[str, str]:
    """(id, key) of the one effect that has started."""
    (effect,) = [a for a in case.effects() if a.state in ("started", "unknown")]
    return str(effect.id), effect.idempotency_key


# ---- F18: the thread is taken away in the middle of an effect ------------------------------------


@pytest.mark.requirement("C01")
def test_cancelled_in_the_middle_of_an_effect(field: Field, worker: Worker) -> None:
    case = field.play("look first, deliver parcel, look last", hold=("in-parcel",))
    case.wait_called("parcel")
    ident, key = started(case)
    message = store.cancel(case.id, actor="user:1", reason="wrong address")
    before = case.row()
    assert message == "deliver had started; whether it happened is unknown."
    assert case.effects()[0].state == "unknown"
    assert (case.folder / "parcel.parcel").exists()  # it did happen, and nobody can know

    case.go("in-parcel")
    case.wait_event("step.fenced")
    (fenced,) = [e for e in case.events() if e.kind == "step.fenced"]
    assert fenced.data["effects"] == [
        {"activity": ident, "tool": "deliver", "idempotency_key": key}
    ]
    # What the worker brought is not written: neither the result nor anything after it.
    (effect,) = case.effects()
    assert (effect.state, effect.result) == ("unknown", None)
    row = case.row()
    assert (row.status, row.head, row.last_seq) == ("cancelled", before.head, before.last_seq + 1)
    assert [len(case.calls(n)) for n in ("first", "parcel", "last")] == [1, 1, 0]
    assert "effect.finished" not in case.kinds()


@pytest.mark.requirement("C01")
def test_rolled_back_in_the_middle_of_an_effect(field: Field, worker: Worker) -> None:
    """The new head is the target; the effect done before is undone, the started one is unknown."""
    case = field.play("deliver one", "look second", "deliver two, look last", hold=("in-two",))
    case.wait_called("two")
    ident, key = started(case)
    case.roll_back(0)
    row = case.wait_status("paused")
    assert (row.step, row.branch) == (0, 1)
    case.go("in-two")
    case.wait_event("step.fenced")
    (fenced,) = [e for e in case.events() if e.kind == "step.fenced"]
    assert fenced.data["effects"] == [
        {"activity": ident, "tool": "deliver", "idempotency_key": key}
    ]
    assert case.row().head == row.head
    assert {e.args["name"]: e.state for e in case.effects()} == {
        "one": "compensated",
        "two": "unknown",
    }
    (began,) = [e for e in case.events() if e.kind == "rollback.started"]
    assert [u["idempotency_key"] for u in began.data["unknown"]] == [key]
    assert (len(case.calls("undo-one")), len(case.calls("undo-two"))) == (1, 0)

    # It goes on from there under other keys: what is unknown is never taken for done, and asks.
    store.resume(case.id, actor="user:1")
    case.wait_status("waiting")
    case.decide("approve")
    case.wait_status("succeeded")
    assert len(set(case.calls("two"))) == 2
    # What was only looked at before, with the same words, answers from its record.
    assert [len(case.calls(n)) for n in ("one", "second", "last")] == [2, 1, 1]


# ---- pauses let paid work finish ----------------------------------------------------------------


@pytest.mark.requirement("A43")
def test_told_to_stop_before_a_node_while_an_activity_works(field: Field, worker: Worker) -> None:
    case = field._start("fan", {}, hold=("in-beside",))
    case.wait_called("beside")
    assert store.pause(case.id, actor="user:1", before_node="end") == "requested"
    case.go("in-beside")
    case.wait_status("waiting")
    case.decide("approve")
    row = case.wait_status("paused")
    assert (row.next_nodes, row.status_reason) == (("end",), "Paused before end")
    assert [len(case.calls(n)) for n in ("beside", "parcel", "end")] == [1, 1, 0]
    store.resume(case.id, actor="user:1")
    case.wait_status("succeeded")
    # What was paid before the pause is not paid again.
    assert [len(case.calls(n)) for n in ("beside", "parcel", "end")] == [1, 1, 1]
    assert "step.fenced" not in case.kinds()


@pytest.mark.requirement("C01")
def test_a_pause_in_a_long_activity_keeps_its_result(field: Field, worker: Worker) -> None:
    case = field.play("look first, deliver parcel", "look last", hold=("in-parcel",))
    case.wait_called("parcel")
    holder = case.holder()
    assert store.pause(case.id, actor="user:1") == "requested"
    assert case.holder() == holder  # nothing is taken away
    case.go("in-parcel")
    case.wait_status("paused")
    (effect,) = case.effects()
    assert (effect.state, effect.result) == ("done", "delivered parcel")
    store.resume(case.id, actor="user:1")
    case.wait_status("succeeded")
    assert [len(case.calls(n)) for n in ("first", "parcel", "last")] == [1, 1, 1]
    assert "step.fenced" not in case.kinds()


# ---- seconds later and days later ---------------------------------------------------------------


def days_pass(case: Case) -> None:
    """As if nobody had looked at the thread for nine days."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE gp_thread SET status_since = status_since - make_interval(secs => %s), "
            "lease_until = lease_until - make_interval(secs => %s), "
            "wake_at = wake_at - make_interval(secs => %s) WHERE id = %s",
            (NINE_DAYS, NINE_DAYS, NINE_DAYS, case.id),
        )


@pytest.mark.requirement("B02")
@pytest.mark.parametrize("later", ["seconds", "days"])
def test_a_paused_thread_is_resumed(field: Field, worker: Worker, later: str) -> None:
    case = field.play("look first", "look second, deliver parcel", "look last", hold=("in-second",))
    case.wait_called("second")
    store.pause(case.id, actor="user:1")
    case.go("in-second")
    row = case.wait_status("paused")
    if later == "days":
        days_pass(case)
        assert (row.status_since - case.row().status_since).total_seconds() == NINE_DAYS
    store.resume(case.id, actor="user:1")
    case.wait_status("succeeded")
    assert [len(case.calls(n)) for n in ("first", "second", "parcel", "last")] == [1, 1, 1, 1]
    assert case.state()["notes"] == ["saw first", "saw second", "delivered parcel", "saw last"]


@pytest.fixture
def lonely(ground: Path) -> Iterator[Worker]:
    """A worker with a queue that nobody else serves."""
    made = Worker(ground, "lonely", queues="lonely", environment={"HAZARD_QUEUE": "lonely"})
    with workers(made):
        yield made


@pytest.mark.requirement("B02")
@pytest.mark.parametrize("later", ["seconds", "days"])
def test_a_lost_worker_is_replaced(field: Field, ground: Path, lonely: Worker, later: str) -> None:
    """With it goes the only one there was; the next one starts seconds or days after."""
    case = field.play(
        "look first",
        "look second, deliver parcel, look third",
        "look last",
        agent="script-lonely",
        hold=("in-third",),
    )
    case.wait_called("third")
    lonely.signal(signal.SIGKILL)
    lonely.process.wait()
    case.go("in-third")
    assert case.row().status == "running"  # nobody is there to say otherwise
    if later == "days":
        days_pass(case)
    other = Worker(ground, "other", queues="lonely", environment={"HAZARD_QUEUE": "lonely"})
    with workers(other):
        case.wait_status("succeeded", seconds=GOES_ON)
        assert {p for n in ("third", "last") for p in case.callers(n)[-1:]} <= set(other.slots())
    assert case.kinds().count("lease.taken_over") == 1
    assert [len(case.calls(n)) for n in ("first", "second", "parcel", "last")] == [1, 1, 1, 1]
    assert len(case.calls("third")) == 2
    assert case.row().crash_count == 0


@pytest.mark.requirement("B02")
def test_a_gate_is_decided_days_later(field: Field, worker: Worker) -> None:
    case = field.play("look first, ask parcel", "look last")
    case.wait_status("waiting")
    days_pass(case)
    case.decide("approve")
    case.wait_status("succeeded")
    assert [len(case.calls(n)) for n in ("first", "parcel", "last")] == [1, 1, 1]


@pytest.mark.requirement("B02")
def test_a_sleeper_whose_time_came_days_ago_is_woken(field: Field, worker: Worker) -> None:
    """No sweep was there when its time came."""
    case = field.start("dozer", seconds=3.0)
    case.wait_status("sleeping")
    days_pass(case)
    case.wait_status("succeeded")
    assert [len(case.calls(n)) for n in ("before", "after")] == [1, 1]


@pytest.mark.requirement("B02")
def test_a_killed_process_goes_on_seconds_later(field: Field, worker: Worker) -> None:
    case = field.play("look first, look second, look third", "look last", hold=("in-second",))
    case.wait_called("second")
    os.kill(case.holder(), signal.SIGKILL)
    case.go("in-second")
    case.wait_status("succeeded", seconds=GOES_ON)
    assert [len(case.calls(n)) for n in ("first", "second", "third", "last")] == [1, 2, 1, 1]
    assert queries.waiting_inputs(case.id) == []
