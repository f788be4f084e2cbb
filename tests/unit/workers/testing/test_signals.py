"""`Harness.play(signals=...)`: a play answers waits by what the test sends."""

from __future__ import annotations

import pytest

from gatepost import Harness
from tests.unit.workers.graphs.waits import graph

pytestmark = pytest.mark.requirement("F10")
SETTLED = "payment.settled"


def test_a_wait_takes_what_the_test_sends() -> None:
    thread = Harness(graph).play(signals={SETTLED: 1})
    assert thread.status == "succeeded", thread.reason
    assert thread.state["notes"] == ["paid 1 by user:author", "nothing more"]


def test_a_wait_without_a_time_stops_the_play_until_a_signal_comes() -> None:
    thread = Harness(graph).play()
    assert thread.status == "waiting"
    assert thread.signal(SETTLED, {"amount": 2}).go_on().status == "succeeded"
    assert thread.state["notes"][0] == "paid {'amount': 2} by user:author"


def test_the_clock_moves_to_the_end_of_a_wait() -> None:
    thread = Harness(graph).play({"seconds": 86_400})
    assert thread.status == "succeeded", thread.reason
    assert thread.state["notes"] == ["too late", "nothing more"]
