"""A cap that is reached pauses the thread, with its reason, before it spends or does anything."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from time import sleep
from typing import Any

import pytest

from approvals.policies import caps
from checkpoints.states import Status
from tests.unit.workers.graphs import asking
from tests.unit.workers.graphs.effects import gated
from tests.unit.workers.graphs.effects.gated import AnyBench, rules
from workers.authoring.graph import END, Graph, State
from workers.authoring.language_models import Reply
from workers.node.context import Context
from workers.testing.harness import Harness

pytestmark = pytest.mark.requirement("G06")

REASON = "This thread has spent 1.00, and 1.00 is its cap."


@pytest.fixture
def refuse(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Say what the caps say."""
    messages = [""]

    def say(*_: Any, **__: Any) -> str:
        return messages[0]

    monkeypatch.setattr(caps, "spend_refusal", say)

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
    assert bench.intact(thread)


def test_in_a_play_a_thread_has_a_cap_of_its_own() -> None:
    asking.answering.requests.clear()
    thread = Harness(asking.graph, cap="0.06").play()
    assert thread.status == "paused"
    assert thread.reason.startswith("This thread has spent 0.0125, and the next call may cost ")
    assert thread.reason.endswith("; 0.06 is its cap.")
    assert len(asking.answering.requests) == 1


class Answering:
    """A model whose calls cost what it says beforehand."""

    def __init__(self) -> None:
        self.calls = self.at_work = self.most = 0
        self.lock = Lock()

    def estimate(self, request: object) -> str:
        return "0.40"

    def __call__(self, request: object) -> Reply:
        with self.lock:
            self.calls += 1
            self.at_work += 1
            self.most = max(self.most, self.at_work)
        sleep(0.05)
        with self.lock:
            self.at_work -= 1
        return Reply("yes", model="m", tokens_in=1, cost="0.40")


def test_in_a_play_calls_at_once_do_not_pass_the_cap() -> None:
    graph = Graph("at-once", State)

    @graph.node(then=("one", "two", "three"))
    def begin(state: State, ctx: Context) -> dict[str, object]:
        return {}

    for name in ("one", "two", "three"):

        def ask(state: State, ctx: Context) -> dict[str, object]:
            ctx.model("?")
            return {}

        ask.__name__ = name
        graph.node(then=END)(ask)
    model = Answering()
    thread = Harness(graph, cap="1.00").play(model=model)
    assert (thread.status, model.calls) == ("paused", 2)
    assert "has spent 0.8" in thread.reason
    assert model.most <= 2
