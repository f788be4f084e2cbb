"""A cap that is reached pauses the thread, with its reason, before it spends or does anything."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from approvals.policies import caps
from checkpoints.states import Status
from tests.workers.graphs import asking
from tests.workers.graphs.effects import gated
from tests.workers.graphs.effects.gated import AnyBench, rules
from tests.workers.memory_bench import MemoryBench
from workers.testing.harness import Harness

pytestmark = pytest.mark.requirement("G06")

REASON = "This thread has spent 1.00, and 1.00 is its cap."


@pytest.fixture
def refuse(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Say what the caps say, in both ledgers."""
    messages = [""]

    def say(*_: Any, **__: Any) -> str:
        return messages[0]

    monkeypatch.setattr(caps, "spend_refusal", say)
    monkeypatch.setattr("workers.testing.memory.rules.Rules.spend_refusal", say)

    def let(text: str) -> None:
        messages[0] = text

    return let


def test_no_model_is_asked_beyond_a_cap(
    make_bench: Callable[[Any], AnyBench], refuse: Callable[[str], None]
) -> None:
    asking.answering.requests.clear()
    bench = make_bench(asking)
    refuse(REASON)
    thread = bench.start()
    row = bench.advance(thread)
    assert (row.status, row.status_reason) == (Status.PAUSED, REASON)
    assert asking.answering.requests == []
    refuse("")
    bench.resume(thread)
    assert bench.advance(thread).status is Status.WAITING
    assert len(asking.answering.requests) == 3


def test_what_is_recorded_costs_nothing(
    make_bench: Callable[[Any], AnyBench], refuse: Callable[[str], None]
) -> None:
    asking.answering.requests.clear()
    bench = make_bench(asking)
    thread = bench.start()
    bench.advance(thread)
    refuse(REASON)
    bench.decide(thread, "approve")
    row = bench.advance(thread)
    assert row.status is Status.PAUSED, "the model's answers are there, the effect is not done"
    refuse("")
    bench.resume(thread)
    assert bench.advance(thread).status is Status.SUCCEEDED
    assert len(asking.answering.requests) == 3


def test_no_effect_happens_beyond_a_cap(
    make_bench: Callable[[Any], AnyBench],
    refuse: Callable[[str], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gated.paid.clear()
    bench = make_bench(gated)
    rules(bench, monkeypatch, lambda _: None)
    refuse(REASON)
    thread = bench.start(asks=False)
    assert bench.advance(thread).status is Status.PAUSED
    assert gated.paid == []
    bench.resume(thread)
    assert bench.advance(thread).status is Status.PAUSED, "nobody raised it"
    refuse("")
    bench.resume(thread)
    assert bench.advance(thread).status is Status.SUCCEEDED
    assert len(gated.paid) == 1
    if isinstance(bench, MemoryBench):
        assert bench.intact(thread)


def test_in_a_play_a_thread_has_a_cap_of_its_own() -> None:
    asking.answering.requests.clear()
    thread = Harness(asking.graph, cap="0.02").play()
    assert thread.status == "paused"
    assert thread.reason == "This thread has spent 0.025, and 0.02 is its cap."
    assert len(asking.answering.requests) == 2
