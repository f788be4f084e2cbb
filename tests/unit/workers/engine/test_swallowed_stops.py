"""A node that catches the stop of ctx fails its step: nothing is recorded as done that was not."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from gatepost import END, Context, Gate, Graph, State, tool
from tests.unit.workers.conftest import Bench
from workers.testing.harness import Harness

pytestmark = pytest.mark.requirement("F06")

paid: list[str] = []


class Order(State):
    note: str = ""


@tool("pay")
def pay(to: str, *, key: str) -> str:
    paid.append(to)
    return f"paid {to}"


INTERRUPT = {"action_request": {"action": "a", "args": {}}, "config": {"allow_accept": True}}
STOPS: dict[str, Callable[[Context], Any]] = {
    "effect": lambda ctx: ctx.effect(pay, {"to": "Ann"}, gate=Gate("Pay?")),
    "ask": lambda ctx: ctx.ask("Which one?"),
    "interrupt": lambda ctx: ctx.interrupt(INTERRUPT),
    "sleep": lambda ctx: ctx.sleep(60),
    "join": lambda ctx: ctx.join([ctx.spawn("swallowing", {"note": "child"})]),
    "map": lambda ctx: ctx.map("swallowing", [{"note": "child"}]),
}


def bare(stop: Callable[[], Any]) -> None:
    try:
        stop()
    except:  # noqa: E722 - what is tried here
        pass


def base(stop: Callable[[], Any]) -> None:
    try:
        stop()
    except BaseException:
        pass


def finally_return(stop: Callable[[], Any]) -> None:
    try:
        stop()
    finally:
        return  # noqa: B012 - what is tried here


FORMS = (bare, base, finally_return)


def swallowing(
    stop: Callable[[Context], Any],
    form: Callable[[Callable[[], Any]], None],
    after: Callable[[Context], Any] = lambda ctx: None,
) -> Graph:
    graph = Graph("swallowing", Order)

    @graph.node(then=END)
    def work(state: Order, ctx: Context) -> dict[str, Any]:
        if state.note == "child":
            return {}
        form(lambda: stop(ctx))
        form(lambda: after(ctx))
        return {"note": "done"}

    return graph


@pytest.mark.filterwarnings("ignore:'return' in a 'finally':SyntaxWarning")
@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
@pytest.mark.parametrize("name", STOPS)
def test_a_swallowed_stop_fails_the_step(
    name: str, form: Callable[[Callable[[], Any]], None]
) -> None:
    thread = Harness(swallowing(STOPS[name], form)).play(decide="approve")
    assert thread.status == "failed"
    assert "stopped the node, and the node caught that" in thread.reason
    assert f"ctx.{name} " in thread.reason
    assert (thread.state["note"], list(thread.open)) == ("", [])


def test_nothing_is_done_after_a_swallowed_stop() -> None:
    paid.clear()
    graph = swallowing(STOPS["effect"], base, lambda ctx: ctx.effect(pay, {"to": "Bob"}))
    thread = Harness(graph).play()
    assert (thread.status, paid, list(thread.activities)) == ("failed", [], [])


def test_a_swallowed_hand_back_gives_the_thread_back(
    make_bench: Callable[[Any], Bench],
) -> None:
    """The worker's own end is no fault of the agent: the node is worked again elsewhere."""
    bench = make_bench(module_of(swallowing(lambda ctx: ctx.now(), base)))
    looks = iter((False, True))
    bench.stopping = lambda: next(looks, True)
    assert bench.advance(thread := bench.start()).status == "queued"
    bench.stopping = lambda: False
    assert bench.advance(thread).status == "succeeded"


def test_a_worker_fails_the_step_as_the_harness_does(
    make_bench: Callable[[Any], Bench],
) -> None:
    bench = make_bench(module_of(swallowing(STOPS["effect"], base)))
    row = bench.advance(thread := bench.start())
    assert (row.status, bench.approvals(thread)) == ("failed", [])
    assert "ctx.effect stopped the node" in row.status_reason


def module_of(graph: Graph) -> Any:
    return SimpleNamespace(__name__=__name__, __file__=__file__, graph=graph, TOOLS={"pay": pay})
