"""How many functions a step calls: the part of its cost that does not depend on the machine."""

from __future__ import annotations

import sys
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
import redis

from approvals.policies import node_policies
from benchmarks.agents import growth
from dashboard.live import receivers
from tests.unit.workers.conftest import Bench, bench_of

# Of Python and of C, from the lease to the commit without Celery; budget 2 allows 600. A change may
# only make it smaller; what a Python of another version counts may move it by a few.
CALLS = 457
_OF_TESTS = str(Path(__file__).parents[3])
# Hints to pages are paced by the clock: the slower a machine, the more of them in so many steps.
_OF_HINTS = str(Path(redis.__file__).parent)


def calls(bench: Bench, steps: int) -> int:
    """The calls of a thread of so many steps of 1 KB, without what the tests add to each event."""
    thread = bench.start(size=1000, steps=steps)
    count = 0

    def counted(frame: FrameType, event: str, _arg: Any) -> None:
        nonlocal count
        caller = frame.f_back if event == "call" else frame
        inside = frame.f_code.co_filename.startswith((_OF_TESTS, _OF_HINTS))
        by_tests = caller is not None and caller.f_code.co_filename.startswith(_OF_TESTS)
        if event in ("call", "c_call") and not (inside or by_tests):
            count += 1

    sys.setprofile(counted)
    try:
        bench.advance(thread)
    finally:
        sys.setprofile(None)
    assert bench.row(thread).step == steps
    return count


@pytest.mark.slow
def test_a_step_calls_at_most_so_many_functions(
    real_db: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What the clock paces, a slow machine does more often in so many steps.
    monkeypatch.setattr(node_policies, "SECONDS", 600.0)
    monkeypatch.setattr(receivers._hints, "_pause", 600.0)
    bench = bench_of(growth)
    calls(bench, 30)  # what is made once
    # The least of five each: what a slow machine does more of comes on top, in either.
    long, short = (min(calls(bench, steps) for _ in range(5)) for steps in (300, 100))
    per_step = (long - short) / 200
    assert per_step <= CALLS, f"{per_step} calls a step"
    assert per_step > 300, "the count is broken"
