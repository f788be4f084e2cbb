"""Expired is an outcome of its own, with a way of its own in the agent."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from checkpoints.states import EventKind, Status
from tests.unit.workers.graphs.effects import gated
from tests.unit.workers.graphs.effects.gated import AnyBench, told_in
from workers.authoring.errors import GraphError
from workers.authoring.graph import END, Gate, Graph, State
from workers.checking.graphs import check_graph
from workers.node.context import Context
from workers.testing.harness import Harness, Reject


@pytest.fixture
def bench(make_bench: Callable[[Any], AnyBench]) -> AnyBench:
    gated.paid.clear()
    gated.failures[0] = 0
    return make_bench(gated)


def test_a_request_that_expires_leads_to_the_node_named_for_it(bench: AnyBench) -> None:
    thread = bench.start(expires=0.05)
    assert bench.advance(thread).status is Status.WAITING
    bench.pass_time(0.1)
    assert bench.expire_due() == 1
    assert bench.advance(thread).status is Status.SUCCEEDED
    assert bench.state(thread)["outcome"] == "nobody looked at it"
    assert gated.paid == []
    (event,) = told_in(bench, thread, EventKind.WAY_TAKEN)
    assert event == {"from": "settle", "to": ["remind"], "because": "nobody decided in time"}
    assert bench.intact(thread)


def test_a_refusal_is_no_expiry() -> None:
    thread = Harness(gated.graph).play(decide=Reject("too much"))
    assert thread.state["outcome"] == "reviewer said no: too much (go_on)"


def test_a_node_that_catches_it_goes_its_own_way(
    make_bench: Callable[[Any], AnyBench],
) -> None:
    graph = Graph("caught", gated.Bill)
    graph.node(then=END, on_expired=END)(gated.caught)
    bench = make_bench(SimpleNamespace(graph=graph, __name__="caught", __file__=""))
    thread = bench.start(expires=0.05)
    bench.advance(thread)
    bench.pass_time(0.1)
    bench.expire_due()
    assert bench.advance(thread).status is Status.SUCCEEDED
    assert bench.state(thread)["outcome"] == "too late"


def test_without_a_way_the_step_fails_and_says_why() -> None:
    graph = Graph("plain", gated.Bill)

    @graph.node(then=END)
    def settle(state: gated.Bill, ctx: Context) -> dict[str, Any]:
        ctx.effect(gated.pay, {"to": "Ada", "amount": "1"}, gate=Gate("Pay?", expires_in=5))
        return {}

    thread = Harness(graph).play().pass_time(6)
    assert thread.status == "failed"
    assert thread.reason.startswith("settle: Nobody decided in time")


def test_the_way_is_drawn_and_has_to_lead_somewhere() -> None:
    drawn = {n["name"]: n for n in gated.graph.describe_graph()["nodes"]}
    assert drawn["settle"]["then"] == ["remind"]
    assert (drawn["settle"]["ends"], drawn["settle"]["on_expired"]) == (True, "remind")
    assert "on_expired" not in drawn["remind"]

    class Nothing(State):
        pass

    graph = Graph("lost", Nothing)

    @graph.node(then=END, on_expired="nowhere")
    def begin(state: Nothing, ctx: Context) -> dict[str, Any]:
        return {}

    with pytest.raises(GraphError, match="'begin' leads to 'nowhere'"):
        graph.check()


def test_siblings_of_an_expired_request_keep_what_they_did(bench: AnyBench) -> None:
    graph = Graph("pair", gated.Bill)

    @graph.node(then=("late", "fine"))
    def begin(state: gated.Bill, ctx: Context) -> dict[str, Any]:
        return {}

    @graph.node(then=END, on_expired="remind")
    def late(state: gated.Bill, ctx: Context) -> dict[str, Any]:
        ctx.ask("Late?", expires_in=5)
        return {"notes": ["in time"]}

    @graph.node(then=END)
    def fine(state: gated.Bill, ctx: Context) -> dict[str, Any]:
        return {"notes": [f"asked {ctx.ask('Fine?').value}"]}

    @graph.node(then=END)
    def remind(state: gated.Bill, ctx: Context) -> dict[str, Any]:
        return {"outcome": "late"}

    from workers.testing.harness import Respond

    thread = Harness(graph).play().pass_time(6)
    assert (thread.status, [a.title for a in thread.open]) == ("waiting", ["Fine?"])
    thread.decide(Respond("yes"))
    assert thread.status == "succeeded"
    assert (thread.state["notes"], thread.state["outcome"]) == (["asked yes"], "late")


def test_a_check_of_the_agent_knows_that_way() -> None:
    results = [finding.said for finding in check_graph(gated.graph)]
    assert not [line for line in results if "leads here" in line], results
