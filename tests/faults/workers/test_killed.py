"""kill -9 of the process that works, at every place of a step; the thread goes on, once."""

from __future__ import annotations

import os
import signal

import pytest

from tests.faults.bench import LEASE, SWEEP, Field, Worker

pytestmark = pytest.mark.hazard
# A lease that was just renewed, the sweep after it, and room for a slow machine.
GOES_ON = LEASE + SWEEP + 12


@pytest.mark.parametrize(
    ("point", "looked"),
    [
        ("before", {"first": 1, "second": 1}),  # in the node, before the second activity
        ("in-second", {"first": 1, "second": 2}),  # in it: it began twice, it is recorded once
        ("after", {"first": 1, "second": 1}),  # after its record, before the step's commit
    ],
)
@pytest.mark.requirement("C06")
@pytest.mark.requirement("C10")
def test_killed_in_a_step_around_an_activity(
    field: Field, worker: Worker, point: str, looked: dict[str, int]
) -> None:
    case = field.play(
        "look zero",
        "think why, look first, hold before, look second, hold after",
        "look last",
        hold=(point,),
    )
    case.wait_called("second" if point != "before" else "first")
    if point == "after":
        case.wait_event("activity.finished", 3)
    elif point == "before":
        case.wait_event("activity.finished", 2)
    victim = case.holder()
    assert victim in worker.slots()
    os.kill(victim, signal.SIGKILL)
    case.go(point)
    case.wait_status("succeeded", seconds=GOES_ON)

    assert {name: len(case.calls(name)) for name in looked} == looked
    assert len(case.calls("zero")) == len(case.calls("last")) == 1
    assert case.kinds().count("lease.taken_over") == 1
    assert case.kinds().count("activity.finished") == 4
    assert case.state()["notes"] == ["saw zero", "saw first", "saw second", "saw last"]
    assert case.row().crash_count == 0


@pytest.mark.parametrize("point", ["before-parcel", "in-parcel"])
def test_killed_inside_an_effect_that_may_be_repeated(
    field: Field, worker: Worker, point: str
) -> None:
    case = field.play("look first, deliver parcel, look last", hold=(point,))
    case.wait_event("effect.started")
    case.wait_called("parcel")
    os.kill(case.holder(), signal.SIGKILL)
    case.go(point)
    case.wait_status("succeeded", seconds=GOES_ON)

    keys = case.calls("parcel")
    assert len(keys) == 2
    assert len(set(keys)) == 1
    assert (case.folder / "parcel.parcel").read_text() == keys[0]
    (effect,) = case.effects()
    assert (effect.state, effect.attempts, effect.idempotency_key) == ("done", 2, keys[0])
    assert case.kinds().count("effect.finished") == 1
    assert len(case.calls("first")) == len(case.calls("last")) == 1


def test_killed_inside_an_effect_that_may_not_be_repeated(field: Field, worker: Worker) -> None:
    case = field.play("look first, shout fire, look last", hold=("in-fire",))
    case.wait_called("fire")
    os.kill(case.holder(), signal.SIGKILL)
    case.go("in-fire")
    row = case.wait_status("attention", seconds=GOES_ON)

    assert len(case.calls("fire")) == 1
    assert "Whether 'shout' happened is unknown" in row.status_reason
    assert "Check outside" in row.status_reason
    assert len(case.calls("first")) == 1
    assert case.calls("last") == []
    assert "effect.finished" not in case.kinds()


def test_killed_after_an_effect(field: Field, worker: Worker) -> None:
    case = field.play("deliver parcel, shout fire, hold after, look last", hold=("after",))
    case.wait_event("effect.finished", 2)
    os.kill(case.holder(), signal.SIGKILL)
    case.go("after")
    case.wait_status("succeeded", seconds=GOES_ON)

    assert {name: len(case.calls(name)) for name in ("parcel", "fire", "last")} == {
        "parcel": 1,
        "fire": 1,
        "last": 1,
    }
    assert [e.state for e in case.effects()] == ["done", "done"]


def test_a_rollback_killed_between_two_undos_is_finished_not_repeated(
    field: Field, worker: Worker
) -> None:
    case = field.play("look zero", "deliver one", "deliver two", "deliver three")
    case.wait_status("succeeded")
    saved = case.calls("three")
    case.hold("in-undo-two")
    case.roll_back(1)
    case.wait_called("undo-two")  # three is taken back and recorded, two is in the middle
    os.kill(case.holder(), signal.SIGKILL)
    case.go("in-undo-two")
    row = case.wait_status("paused", seconds=GOES_ON)

    assert {n: len(case.calls(f"undo-{n}")) for n in ("three", "two", "one")} == {
        "three": 1,
        "two": 2,
        "one": 1,
    }
    assert len(set(case.calls("undo-two"))) == 1
    assert case.calls("undo-three") == [f"undo:{saved[0]}"]
    assert [e.state for e in case.effects()] == ["compensated"] * 3
    assert case.kinds().count("compensation.finished") == 3
    assert list(case.folder.glob("*.parcel")) == []
    assert (row.step, row.branch) == (1, 1)


def test_a_crash_loop_stops_after_three_and_leaves_others_alone(
    field: Field, worker: Worker
) -> None:
    falls = field.play("look first, fall here, look last")
    others = [field.play("look a", "look b", "look c") for _ in range(10)]
    row = falls.wait_status("attention", seconds=3 * GOES_ON)

    assert "lost 3 times in a row" in row.status_reason
    assert row.crash_count == 3
    assert falls.kinds().count("lease.acquired") + falls.kinds().count("lease.taken_over") == 3
    assert len(falls.calls("first")) == 1
    assert falls.calls("last") == []
    done = [other.wait_status("succeeded") for other in others]
    assert sum(other.row().crash_count == 0 for other in others) == len(done) == 10
