"""A worker is frozen past its lease and wakes up again, several times over; nobody is doubled."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.faults.bench import LEASE, SWEEP, Case, Field, Worker, workers

pytestmark = [pytest.mark.hazard, pytest.mark.requirement("C30")]
ROUNDS = 3
GOES_ON = LEASE + SWEEP + 12


def test_each_time_the_late_commit_is_refused(ground: Path, field: Field) -> None:
    payload = {"HAZARD_QUEUE": "frozen"}
    pair = [Worker(ground, f"frozen-{n}", queues="frozen", environment=payload) for n in (1, 2)]
    refused = crashed = 0
    with workers(*pair) as (one, two):
        for number in range(ROUNDS):
            case = field.play(
                "look first", "deliver parcel", "look last", agent="script-frozen",
                hold=("in-parcel",),
            )  # fmt: skip
            case.wait_called("parcel")
            stale = case.holder()
            frozen, other = (one, two) if stale in one.working() else (two, one)
            former = case.row()
            frozen.signal(signal.SIGSTOP)
            case.wait_event("lease.taken_over", seconds=GOES_ON)
            case.wait_called("parcel", 2, seconds=GOES_ON)
            now = case.row()
            assert case.holder() in other.working()
            assert (now.fence, now.crash_count) == (former.fence + 1, former.crash_count + 1)
            crashed += now.crash_count
            # The first one is back while the second is still at work: both come to the commit.
            frozen.signal(signal.SIGCONT)
            case.go("in-parcel")
            case.wait_status("succeeded", seconds=GOES_ON)
            case.wait_event("step.fenced", seconds=GOES_ON)
            refused += fenced_once(case, stale)
            assert len(set(case.calls("parcel"))) == 1
            assert len(case.calls("last")) == 1
            assert os.path.exists(case.folder / "parcel.parcel")
            assert frozen.alive, number
    assert (refused, crashed) == (ROUNDS, ROUNDS)


def fenced_once(case: Case, stale: int) -> int:
    """The former holder wrote nothing after it lost its lease, and each step has one checkpoint."""
    events = case.events()
    (fenced,) = [e for e in events if e.kind == "step.fenced"]
    assert str(stale) in fenced.data["owner"]
    taken = next(e.seq for e in events if e.kind == "lease.taken_over")
    late = [e.kind for e in events if e.seq > taken and str(stale) in e.actor]
    assert late == ["step.fenced"]
    steps = [e.data["step"] for e in events if e.kind == "checkpoint.committed"]
    assert steps == [1, 2, 3]
    assert len([e for e in events if e.kind == "effect.finished"]) == 1
    return 1
