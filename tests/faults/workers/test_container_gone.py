"""Every worker is gone for a while, as when a machine burns down; a new one finds all as it was."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.faults.bench import LEASE, SWEEP, Field, Worker, wait_until, workers

pytestmark = [pytest.mark.hazard, pytest.mark.requirement("C17")]
GOES_ON = LEASE + SWEEP + 15


def made(ground: Path, number: int) -> Worker:
    return Worker(
        ground, f"gone-{number}", slots=2, queues="gone", environment={"HAZARD_QUEUE": "gone"}
    )


def test_variables_position_and_attempts_outlive_every_process(ground: Path, field: Field) -> None:
    agent = "script-gone"
    with workers(made(ground, 1)) as (first,):
        waiting = field.play("look a", "think why, look b, ask parcel", "look c", agent=agent)
        working = field.play("look a", "look b, deliver parcel", "look c", agent=agent,
                             hold=("in-parcel",))  # fmt: skip
        waiting.wait_status("waiting")
        working.wait_called("parcel")
        # Last, so that its timer runs out after the worker is gone, also on a slow machine.
        sleeping = field.play("look a", "look b, sleep 12, look c", "look d", agent=agent)
        sleeping.wait_status("sleeping")
        first.kill()
    gone = time.monotonic()
    # Meanwhile people decide, timers run out, the lease expires: nobody is there to notice.
    waiting.decide("approve")
    wait_until(lambda: time.monotonic() > gone + 12)
    (effect,) = working.effects()
    assert (effect.state, effect.attempts) == ("started", 1)
    assert [case.row().status for case in (waiting, working)] == ["queued", "running"]
    # The sweep of any worker, such as the standing one, wakes it; none serves its queue.
    assert sleeping.row().status in ("sleeping", "queued")

    with workers(made(ground, 2)) as (second,):
        working.wait_event("lease.taken_over", seconds=GOES_ON)
        assert working.row().crash_count == 1
        working.go("in-parcel")
        for case in (waiting, sleeping, working):
            case.wait_status("succeeded", seconds=GOES_ON)
            # What was done is not done again; what was to come is done by the new one.
            assert [len(case.calls(name)) for name in ("a", "b", "c")] == [1, 1, 1]
            assert set(case.callers("c")) <= set(second.working())
            assert case.state()["at"] == 3
    assert waiting.state()["notes"] == ["saw a", "saw b", "delivered parcel", "saw c"]
    assert sleeping.state()["notes"] == ["saw a", "saw b", "saw c", "saw d"]
    (effect,) = working.effects()
    assert (effect.state, effect.attempts) == ("done", 2)
    assert len(set(working.calls("parcel"))) == 1
