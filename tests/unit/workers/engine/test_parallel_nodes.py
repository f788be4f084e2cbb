"""Nodes of one step work at the same time; what comes of it does not depend on who ends first."""

from __future__ import annotations

import sys
import threading
import time
from itertools import permutations
from typing import Annotated, Any

import pytest

from checkpoints.queries.rows import rows
from gatepost import END, Append, Context, Gate, Graph, State, tool
from tests.unit.workers.conftest import bench_of
from tests.unit.workers.graphs import samples
from workers.authoring import time_limits
from workers.authoring.errors import GraphError
from workers.engine import node_outcomes
from workers.testing.harness import Harness

NAMES = ("a", "b", "c", "d")


class Row(State):
    seen: Annotated[list[str], Append()] = []
    last: str = ""


def fan_out(graph: Graph, names: tuple[str, ...], work: Any) -> Graph:
    """`begin`, then one node for each name, all of them ready in one step."""
    graph.node("begin", then=names)(lambda state, ctx: {})
    for name in names:

        def call(state: Row, ctx: Context, name: str = name) -> dict[str, Any]:
            return dict(work(name, ctx))

        graph.node(name, then=END)(call)
    return graph


@pytest.mark.slow
@pytest.mark.requirement("C07")
@pytest.mark.parametrize("save_after", [0, 60], ids=["saved", "together"])
@pytest.mark.parametrize("order", list(permutations(NAMES)), ids="".join)
def test_each_order_of_completion_gives_the_same_state(
    order: tuple[str, ...], save_after: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether each end is recorded at once or all of them are committed together."""
    monkeypatch.setattr(node_outcomes, "SAVE_AFTER_SECONDS", save_after)
    ended = {name: threading.Event() for name in NAMES}
    together = threading.Barrier(len(NAMES), timeout=10)
    ends: list[str] = []

    def work(name: str, ctx: Context) -> dict[str, Any]:
        together.wait()
        position = order.index(name)
        if position:
            assert ended[order[position - 1]].wait(10)
        ctx.think(f"{name} thinks")
        ends.append(name)
        ended[name].set()
        return {"seen": [name]}

    thread = Harness(fan_out(Graph("row", Row), NAMES, work), guard=False).play()
    assert (thread.status, tuple(ends)) == ("succeeded", order), thread.reason
    assert thread.state == {"seen": list(NAMES), "last": ""}
    thoughts = [e.data["text"] for e in thread.events if e.kind == "thought.recorded"]
    # What is saved at once stands where it happened.
    assert (sorted(thoughts) if save_after == 0 else thoughts) == [f"{n} thinks" for n in NAMES]


def test_one_at_a_time_where_the_graph_says_so() -> None:
    own: list[int] = []

    def work(name: str, ctx: Context) -> dict[str, Any]:
        own.append(threading.get_ident())
        return {"seen": [name]}

    graph = fan_out(Graph("row", Row, nodes_at_once=1), NAMES, work)
    assert Harness(graph).play().status == "succeeded"
    assert set(own) == {threading.get_ident()}


@pytest.mark.parametrize("number", [0, 65, True, 2.0])
def test_a_bound_that_is_none_is_refused(number: Any) -> None:
    with pytest.raises(GraphError, match="nodes_at_once"):
        Graph("row", Row, nodes_at_once=number)


def test_the_bound_holds() -> None:
    now, most = 0, 0
    lock, two = threading.Lock(), threading.Barrier(2, timeout=30)

    def work(name: str, ctx: Context) -> dict[str, Any]:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        two.wait()  # one at a time never meets another
        time.sleep(0.02)
        with lock:
            now -= 1
        return {"seen": [name]}

    graph = fan_out(Graph("row", Row, nodes_at_once=2), NAMES, work)
    assert Harness(graph).play().state["seen"] == list(NAMES)
    assert most == 2


@pytest.mark.requirement("C07")
def test_a_finished_node_is_saved_while_its_sibling_works_and_not_repeated() -> None:
    calls: list[str] = []
    meanwhile: list[str] = []

    def work(name: str, ctx: Context) -> dict[str, Any]:
        calls.append(name)
        if name == "b" and calls.count("b") == 1:
            deadline = time.monotonic() + 30
            while not saved() and time.monotonic() < deadline:
                time.sleep(0.01)
            meanwhile.extend(saved())
            raise ValueError("not yet")
        return {"seen": [name]}

    harness = Harness(fan_out(Graph("row", Row), ("a", "b"), work), guard=False)

    def saved() -> list[str]:
        look = (
            "SELECT a.tool FROM gp_activity a JOIN gp_thread th ON th.id = a.thread_id "
            "WHERE th.workspace_id = %s::uuid AND a.kind = 'node' AND a.state = 'done'"
        )
        return [tool for (tool,) in harness.plays.call(rows, look, (harness.plays.workspace,))]

    thread = harness.play()
    assert (thread.status, meanwhile) == ("failed", ["a"])
    thread.retry()
    assert (thread.status, thread.state["seen"]) == ("succeeded", ["a", "b"])
    assert sorted(calls) == ["a", "b", "b"]


def test_a_gate_in_one_waits_while_the_others_end() -> None:
    @tool("row.send", idempotent=True)
    def send(to: str, *, key: str) -> str:
        """Send it."""
        return to

    def work(name: str, ctx: Context) -> dict[str, Any]:
        if name in "bd":
            gate = Gate(f"Send {name}?", risk="low")
            return {"seen": [ctx.effect(send, {"to": name}, gate=gate).result]}
        time.sleep(0.03)
        return {"seen": [name]}

    thread = Harness(fan_out(Graph("row", Row), NAMES, work), guard=False).play()
    assert thread.status == "waiting"
    assert [a.title for a in thread.open] == ["Send b?", "Send d?"]
    assert sorted(a.tool for a in thread.activities if a.kind == "node") == ["a", "c"]


def test_a_worker_that_stops_keeps_what_has_finished_and_leaves_the_others(real_db: str) -> None:
    stops = threading.Event()
    calls: list[str] = []

    def look(name: str) -> str:
        calls.append(name)
        return name

    def work(name: str, ctx: Context) -> dict[str, Any]:
        ctx.activity(look, name)
        if name in "bd" and not stops.is_set():
            while calls.count("a") + calls.count("c") < 2:
                time.sleep(0.001)
            stops.set()
        return {"seen": [ctx.activity(look, name, key="again")]}

    bench = bench_of(samples)
    bench.install(fan_out(Graph("row", Row), NAMES, work), {}, sys.modules[__name__])
    bench.stopping = stops.is_set
    thread = bench.start()
    bench.advance(thread)
    assert bench.row(thread).status == "queued"
    bench.stopping = lambda: False
    bench.advance(thread)
    assert bench.row(thread).status == "succeeded"
    assert sorted(calls) == sorted(NAMES * 2)


def test_the_guard_holds_in_each_of_them() -> None:
    def work(name: str, ctx: Context) -> dict[str, Any]:
        if name == "c":
            threading.Thread(target=print).start()
        return {"seen": [name]}

    thread = Harness(fan_out(Graph("row", Row), NAMES, work)).play()
    assert thread.status == "failed"
    assert "starts a thread outside of an activity" in thread.reason


def test_where_the_machine_gives_no_more_threads_fewer_work_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    start, alive = threading.Thread.start, 0

    def refusing(self: threading.Thread) -> None:
        nonlocal alive
        if self.name == "gatepost-node" and alive == 2:
            raise RuntimeError("can't start new thread")
        alive += 1
        start(self)

    def work(name: str, ctx: Context) -> dict[str, Any]:
        nonlocal alive
        time.sleep(0.01)
        alive -= 1
        return {"seen": [name]}

    monkeypatch.setattr(threading.Thread, "start", refusing)
    thread = Harness(fan_out(Graph("row", Row), NAMES, work), guard=False).play()
    assert (thread.status, thread.state["seen"]) == ("succeeded", list(NAMES)), thread.reason


@pytest.mark.parametrize("after", range(1, 9))
def test_a_worker_that_dies_at_any_write_repeats_no_recorded_call(after: int) -> None:
    calls: list[str] = []

    def look(name: str) -> str:
        calls.append(name)
        return name

    def work(name: str, ctx: Context) -> dict[str, Any]:
        return {"seen": [ctx.activity(look, name)]}

    graph = fan_out(Graph("row", Row), NAMES, work)
    thread = Harness(graph, stop_after=after).play()
    assert (thread.status, thread.state["seen"]) == ("succeeded", list(NAMES))
    done = [a for a in thread.activities if a.tool == "look"]
    assert len(done) == len(NAMES)
    assert len(calls) <= 2 * len(NAMES) - 1


def test_a_node_that_has_ended_is_not_lost_with_one_that_hangs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The slot is ended once all that work are past their limits, and not before it is saved."""
    monkeypatch.setattr(node_outcomes, "SAVE_AFTER_SECONDS", 0)
    is_saved, past, tokens = threading.Event(), [], []
    save, graph = node_outcomes.save_update, Graph("hangs", Row)

    def watched(ledger: Any, step: Any, done: Any, events: Any) -> None:
        time.sleep(0.05)
        tokens.append(step.work.token)
        past.append(time_limits.past(step.work.token, 900))
        save(ledger, step, done, events)
        is_saved.set()

    monkeypatch.setattr(node_outcomes, "save_update", watched)
    graph.node("begin", then=("a", "b"))(lambda state, ctx: {})

    @graph.node(then=END)
    def a(state: Row, ctx: Context) -> dict[str, Any]:
        return {"seen": ["a"]}

    @graph.node(then=END, time_limit=0.01)
    def b(state: Row, ctx: Context) -> dict[str, Any]:
        assert is_saved.wait(10)
        token = tokens[0]
        until = time.monotonic() + 10
        while time_limits.past(token, 900) is None and time.monotonic() < until:
            time.sleep(0.01)
        past.append(time_limits.past(token, 900))
        return {"seen": ["b"]}

    thread = Harness(graph, guard=False).play()
    assert (thread.status, thread.state["seen"]) == ("succeeded", ["a", "b"]), thread.reason
    assert past[:2] == [None, ("b", 0.01)]
    assert time_limits.past(tokens[0], 0) is None
