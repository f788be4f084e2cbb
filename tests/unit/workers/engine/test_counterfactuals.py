"""Counterfactuals and budgets of forks."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from approvals.policies.caps import AT_CAP
from checkpoints import store
from tests.unit.workers.conftest import Bench
from workers.authoring.graph import END, Gate, Graph, State, tool
from workers.authoring.language_models import Reply, Request
from workers.node.context import Context
from workers.testing.harness import Harness

pytestmark = pytest.mark.requirement("G11")

EITHER = Bench
CALLS: list[str] = []


class Order(State):
    goal: str = "tea"
    seen: list[Any] = []
    price: int = 0
    advice: str = ""
    done: str = ""


def rate(goal: str) -> int:
    CALLS.append("rate")
    return len(goal)


def quote(goal: str, rate: int) -> int:
    CALLS.append("quote")
    return rate * 10


def answer(request: Request) -> Reply:
    CALLS.append("model")
    price = request.parts[1]
    text = "buy" if isinstance(price, int) and price < 100 else "wait"
    return Reply(text, request.model, 30, 12, "0.25")


@tool("deciding.send", idempotent=True)
def send(text: str, *, key: str) -> str:
    CALLS.append("send")
    return f"sent {text}"


graph = Graph("deciding", Order, model=answer)


@graph.node(then="judge")
def ask(state: Order, ctx: Context) -> dict[str, Any]:
    seen = [ctx.now().isoformat(), ctx.random(), str(ctx.uuid())]
    price = ctx.activity(quote, state.goal, ctx.activity(rate, state.goal))
    return {"price": price, "seen": [*seen, ctx.random()]}


@graph.node(then="act")
def judge(state: Order, ctx: Context) -> dict[str, Any]:
    return {"advice": ctx.model("Buy or wait?", state.price)}


@graph.node(then=END)
def act(state: Order, ctx: Context) -> dict[str, Any]:
    if state.advice != "buy":
        return {"done": "nothing"}
    return {"done": ctx.effect(send, {"text": state.goal}, gate=Gate("Buy it?")).result}


MODULE = SimpleNamespace(graph=graph, TOOLS={send.name: send}, __name__=__name__, __file__=__file__)


@pytest.fixture
def bench(make_bench: Callable[[Any], EITHER]) -> EITHER:
    return make_bench(MODULE)


@pytest.fixture
def base(bench: EITHER) -> Any:
    """A thread that bought tea: two calls, an answer of a model and an effect."""
    CALLS.clear()
    thread = bench.start()
    assert bench.advance(thread).status == "waiting"
    bench.decide(thread, "approve")
    assert bench.advance(thread).status == "succeeded"
    assert CALLS == ["rate", "quote", "model", "send"]
    CALLS.clear()
    return thread


def instead(bench: EITHER, base: Any, tool: str, output: Any, number: int, **more: Any) -> Any:
    (call,) = [a for a in bench.activities(base) if a.tool == tool]
    point = bench.checkpoint(base, number).id
    values: dict[str, Any] = {"output": output, "checkpoint": point, "actor": "user:2", **more}
    return store.fork_with_output(call, **values)


def test_only_the_exchanged_output_differs_and_the_ending_flips(bench: EITHER, base: Any) -> None:
    fork = instead(bench, base, "quote", 5_000, 0, reason="what if it were dear?")
    assert bench.advance(fork).status == "succeeded"
    # The rate was recorded before it and is not called; nor is the exchanged call itself.
    assert CALLS == ["model"]
    old, new = bench.state(base), bench.state(fork)
    assert (old["price"], old["advice"], old["done"]) == (30, "buy", "sent tea")
    assert (new["price"], new["advice"], new["done"]) == (5_000, "wait", "nothing")
    # Time, chance and ids that were drawn before it are those of the base, later ones are not.
    assert new["seen"][:3] == old["seen"][:3]
    assert new["seen"][3] != old["seen"][3]
    usage = {a.tool: a.usage for a in bench.activities(fork)}
    ids = {a.tool: str(a.id) for a in bench.activities(base)}
    assert usage["quote"] == {"instead_of": ids["quote"]}
    assert usage["rate"]["reused_from"] == ids["rate"]
    begun = bench.events(fork)[0].data["exchanged"]
    assert begun == {"activity": ids["quote"], "node": "ask", "tool": "quote", "step": 1}
    assert bench.intact(fork)
    assert bench.intact(base)


def test_a_model_and_a_tool_are_exchanged_and_effects_are_held(bench: EITHER, base: Any) -> None:
    fork = instead(bench, base, "model", "wait", 1)
    assert bench.advance(fork).status == "succeeded"
    assert (bench.state(fork)["advice"], bench.state(fork)["done"]) == ("wait", "nothing")
    # The effect stands there with another result; it does not happen and nobody is asked.
    other = instead(bench, base, "deciding.send", "refused", 2)
    assert bench.advance(other).status == "succeeded"
    assert bench.state(other)["done"] == "refused"
    # An output that changes nothing comes to the same gate, and the effect waits there.
    same = instead(bench, base, "quote", 90, 0)
    assert bench.advance(same).status == "waiting"
    assert CALLS == ["model"]
    assert all(bench.intact(thread) for thread in (fork, other, same))


@pytest.mark.parametrize(
    ("budget", "calls", "spent"),
    [
        ({"steps": 1}, ["rate", "quote"], "taken 1 step"),
        ({"cost": "0.20"}, ["rate", "quote", "model"], "spent $0.25"),
        ({"tokens": 42, "steps": 9}, ["rate", "quote", "model"], "used 42 tokens"),
    ],
)
def test_a_fork_pauses_at_its_budget_and_is_granted_it_again(
    bench: EITHER, base: Any, budget: dict[str, Any], calls: list[str], spent: str
) -> None:
    fork = bench.fork(base, 0, {"goal": "coffee"}, budget=budget)
    row = bench.advance(fork)
    assert (row.status, CALLS) == ("paused", calls)
    assert row.status_reason.startswith(f"Over its budget: this fork has {spent}; {AT_CAP} ")
    assert bench.events(fork)[-1].data["cap"] is True
    for _ in range(3):
        bench.resume(fork)
        if (row := bench.advance(fork)).status != "paused":
            break
    assert row.status == "waiting"
    granted = [e.data["budget"] for e in bench.events(fork) if e.kind == "thread.resumed"]
    first = bench.events(fork)[0].data["budget"]
    assert first.keys() == granted[0].keys() == budget.keys()
    if "steps" in budget and len(budget) == 1:
        assert granted == [{"steps": 2}, {"steps": 3}]
    assert bench.intact(fork)


def test_other_threads_have_no_budget(bench: EITHER, base: Any) -> None:
    fork = bench.fork(base, 0, {"goal": "coffee"})
    assert bench.advance(fork).status == "waiting"
    assert "budget" not in bench.events(fork)[0].data


def test_the_harness_asks_what_if() -> None:
    harness = Harness(graph)
    thread = harness.play(decide="approve")
    assert thread.status == "succeeded"
    call = next(a for a in thread.activities if a.tool == "quote")
    fork = thread.fork_instead(call, 5_000)
    assert (fork.status, fork.state["done"]) == ("succeeded", "nothing")
    short = thread.fork(0, {"goal": "coffee"}, budget={"steps": 1})
    assert (short.status, short.reason[:15]) == ("paused", "Over its budget")
    assert short.resume().status == "paused"
