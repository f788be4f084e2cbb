"""The limit of steps: what counts, where a thread stops, and how it goes on."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Annotated, Any

import pytest

from gatepost import END, Append, Context, Graph, GraphError, State
from tests.unit.workers.conftest import Bench
from workers.testing.harness import Harness, Respond

pytestmark = pytest.mark.requirement("F06")

LIMIT = 5


class Rounds(State):
    done: int = 0
    until: int = 1_000_000
    wait: str = ""
    messages: Annotated[list[str], Append()] = []


def rounds(**options: Any) -> Graph:
    graph = Graph("rounds", Rounds, message_channel="messages", **options)

    def further(state: Rounds) -> str:
        return END if state.done >= state.until else "go"

    @graph.node(then=further, ways=("go", END))
    def go(state: Rounds, ctx: Context) -> dict[str, Any]:
        if state.done % 3 == 2:
            if state.wait == "sleep":
                ctx.sleep(0.01)
            elif state.wait == "ask":
                ctx.ask(f"Round {state.done}?")
            elif state.wait == "child":
                ctx.join([ctx.spawn("rounds", {"until": 1})])
        return {"done": state.done + 1}

    return graph


def module_of(graph: Graph) -> Any:
    return SimpleNamespace(__name__=__name__, __file__=__file__, graph=graph)


Make = Callable[[Any], Bench]


def test_it_stops_at_the_limit_and_may_take_as_many_again(make_bench: Make) -> None:
    bench = make_bench(module_of(rounds(max_steps=LIMIT)))
    row = bench.advance(thread := bench.start())
    assert (row.status, bench.state(thread)["done"]) == ("attention", LIMIT)
    assert row.status_reason.startswith("5 steps since the last message, decision")
    bench.retry(thread)
    assert bench.advance(thread).status == "attention"
    assert bench.state(thread)["done"] == 2 * LIMIT


def test_slices_of_time_and_lost_leases_count_on(make_bench: Make) -> None:
    bench = make_bench(module_of(rounds(max_steps=LIMIT)))
    thread = bench.start()
    for _ in range(3 * LIMIT):
        if bench.row(thread).status not in ("queued", "running"):
            break
        bench.advance(thread, slice_seconds=0)
    assert bench.state(thread)["done"] == LIMIT


def test_a_message_and_an_edit_begin_to_count_anew(make_bench: Make) -> None:
    bench = make_bench(module_of(rounds(max_steps=LIMIT)))
    thread = bench.start()
    bench.advance(thread, slice_seconds=0)
    bench.advance(thread, slice_seconds=0)
    before = bench.state(thread)["done"]
    bench.send(thread, "hello")
    bench.advance(thread)
    assert bench.state(thread)["done"] == before + LIMIT
    bench.edit(thread, {"wait": ""}, "why")
    bench.retry(thread)
    bench.advance(thread)
    assert bench.state(thread)["done"] == before + 2 * LIMIT


@pytest.mark.parametrize("wait", ["sleep", "ask"])
def test_timers_and_decisions_come_from_outside(wait: str) -> None:
    graph = rounds(max_steps=LIMIT)
    thread = Harness(graph).play({"until": 30, "wait": wait}, decide=Respond("yes"))
    assert (thread.status, thread.state["done"]) == ("succeeded", 30)


def test_its_own_children_do_not(make_bench: Make) -> None:
    thread = Harness(rounds(max_steps=LIMIT)).play({"wait": "child"})
    assert (thread.status, thread.state["done"]) == ("failed", LIMIT)


def test_a_fork_counts_its_own_steps() -> None:
    thread = Harness(rounds(max_steps=LIMIT)).play()
    fork = thread.fork(at=4)
    assert (fork.status, fork.state["done"]) == ("failed", 4 + LIMIT)


@pytest.mark.slow
def test_a_play_fails_with_that_sentence_by_default() -> None:
    thread = Harness(rounds()).play()
    assert (thread.status, thread.state["done"]) == ("failed", 10_000)
    assert "10,000 steps since the last message" in thread.reason
    assert "Retry allows 10,000 more" in thread.reason


@pytest.mark.slow
def test_an_agent_sets_its_own_limit_or_none() -> None:
    assert "max_steps" not in rounds().describe_graph()
    assert rounds(max_steps=7).describe_graph()["max_steps"] == 7
    assert rounds(max_steps=None).describe_graph()["max_steps"] is None
    long = Harness(rounds(max_steps=None)).play({"until": 10_020})
    assert long.status == "succeeded"
    for wrong in (0, -1, True, "5", 2.0):
        with pytest.raises(GraphError, match="max_steps"):
            rounds(max_steps=wrong)
