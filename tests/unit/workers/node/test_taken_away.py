"""A person takes the thread away while its effect works: both ledgers say the same of it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

from checkpoints.errors import LeaseLost
from tests.unit.workers.conftest import Bench
from workers.authoring.graph import END, Graph, State, tool
from workers.node.context import Context
from workers.testing.harness import Harness

meanwhile: list[Callable[[], Any]] = []


class Letter(State):
    sent: str = ""


def take_back(args: dict[str, Any], result: Any, *, key: str) -> None: ...


@tool("publish", undo=take_back, idempotent=True)
def publish(number: int, *, key: str) -> str:
    """People act while it works."""
    while meanwhile:
        meanwhile.pop()()
    return f"letter {number}"


graph = Graph("letters", Letter)
TOOLS = {publish.name: publish}


@graph.node(then="second")
def first(state: Letter, ctx: Context) -> dict[str, Any]:
    return {"sent": ctx.effect(publish, {"number": 1}).result}


@graph.node(then=END)
def second(state: Letter, ctx: Context) -> dict[str, Any]:
    return {"sent": ctx.effect(publish, {"number": 2}).result}


def events_of(bench: Bench, thread: Any) -> list[tuple[str, list[str]]]:
    """The last events, by kind and by the names of what they tell."""
    return [(str(e.kind), sorted(e.data)) for e in bench.events(thread)[-2:]]


@pytest.mark.parametrize("how", ["cancel", "roll_back"])
def test_the_effect_becomes_unknown_in_both_ledgers(
    make_bench: Callable[[Any], Bench], how: str
) -> None:
    bench = make_bench(sys.modules[__name__])
    thread = bench.start()

    def take() -> None:
        if how == "cancel":
            bench.cancel(thread)
        else:
            bench.begin_roll_back(thread, 0)

    # The first effect is done; people come while the second one works.
    bench.pause(thread, before_node="second")
    bench.advance(thread)
    bench.resume(thread)
    meanwhile.append(take)
    with pytest.raises(LeaseLost):
        bench.advance(thread)

    states = {a.step: (a.state, a.result) for a in bench.activities(thread) if a.kind == "effect"}
    assert states == {1: ("done", "letter 1"), 2: ("unknown", None)}
    marked, taken = bench.events(thread)[-2:]
    assert (str(marked.kind), marked.data["state"]) == ("effect.failed", "unknown")
    assert marked.actor == "user:1"
    assert taken.data["unknown"] == [
        {n: marked.data[n] for n in ("activity", "tool", "idempotency_key")}
    ]
    message = "publish had started; whether it happened is unknown."
    assert bench.row(thread).status_reason == (message if how == "cancel" else "wrong")
    assert events_of(bench, thread) == [
        (
            "effect.failed",
            [
                *("activity", "branch", "error", "idempotency_key", "key", "node", "seal"),
                *("state", "step", "tool"),
            ],
        ),
        (
            "thread.cancelled" if how == "cancel" else "rollback.started",
            ["reason", "unknown"]
            if how == "cancel"
            else ["by", "number", "reason", "run_on", "step", "target", "undo", "unknown"],
        ),
    ]
    assert bench.intact(thread)
    if how == "roll_back":
        row = bench.advance(thread)
        assert (row.status, row.step, row.branch) == ("paused", 0, 1)
        states = {a.step: a.state for a in bench.activities(thread) if a.kind == "effect"}
        assert states == {1: "compensated", 2: "unknown"}
        assert bench.intact(thread)


def test_in_a_play_the_late_result_is_fenced_and_named() -> None:
    harness = Harness(graph)
    thread = harness.play(pause_at="second")
    meanwhile.append(thread.cancel)
    thread.resume()
    assert (thread.status, thread.state["sent"]) == ("cancelled", "letter 1")
    assert thread.kinds[-3:] == ["effect.failed", "thread.cancelled", "step.fenced"]
    unknown = thread.effects[-1]
    assert (unknown.state, unknown.result) == ("unknown", None)
    assert thread.events[-1].data["effects"] == [
        {
            "activity": str(unknown.id),
            "tool": "publish",
            "idempotency_key": unknown.idempotency_key,
        }
    ]
    assert thread.verify() > 0
