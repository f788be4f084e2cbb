"""A step of a hot agent counts as acknowledged where its agent, node or channel says so."""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID

import pytest
import redis

from checkpoints import store
from checkpoints.chain import verify_thread
from checkpoints.hot import streams
from checkpoints.records import Work
from tests.unit.checkpoints.builders import expire
from tests.unit.workers.conftest import Bench
from tests.unit.workers.graphs.ticking import TOOLS, ticking
from tests.unit.workers.step.test_hot_ledger import appended, taken, worked
from workers.authoring.errors import GraphError
from workers.authoring.graph import END, Durable, Graph, State
from workers.code.registry import announce
from workers.node.context import Context
from workers.step.hot_ledger import STEPS_AT_ONCE, BatchLedger

__all__ = ["appended"]
pytestmark = [pytest.mark.usefixtures("real_db", "hot_store"), pytest.mark.requirement("A31")]


class Sums(State):
    until: int = 40
    n: int = 0
    balance: Annotated[int, Durable()] = 0


def summing(*, node: Any = None, channel: bool = False) -> Graph:
    """Counts; every tenth step goes by the node `settle`, which may change the durable channel."""
    graph = Graph("summing", Sums, durability="hot")

    def onwards(state: Sums) -> str:
        if state.n >= state.until:
            return END
        return "settle" if state.n % 10 == 0 else "count"

    ways = ("count", "settle", END)

    @graph.node(then=onwards, ways=ways)
    def count(state: Sums, ctx: Context) -> dict[str, Any]:
        return {"n": state.n + 1}

    @graph.node(then=onwards, ways=ways, durability=node)
    def settle(state: Sums, ctx: Context) -> dict[str, Any]:
        return {"n": state.n + 1, **({"balance": state.n} if channel else {})}

    return graph


def bench_of(graph: Graph, settings: Any) -> Bench:
    settings.GATEPOST_LEASE_SECONDS = 1.0
    workspace = store.create_workspace(graph.name, actor="user:0")
    return Bench(announce(graph, TOOLS, []), workspace)


def in_database(bench: Bench, thread: UUID, seen: list[tuple[int, int]]) -> Any:
    """Note, before each step, the steps that the worker has done and those in PostgreSQL."""

    def note(work: Work) -> None:
        seen.append((work.number, bench.row(thread).number))

    return note


def test_a_durable_acknowledgement_outlives_worker_and_hot_store(
    settings: Any, hot_store: redis.Redis, appended: list[int]
) -> None:
    bench = bench_of(ticking("hot", acknowledge="durable"), settings)
    thread = bench.start(until=60)
    seen: list[tuple[int, int]] = []
    ledger = worked(bench, taken(thread), until=37, before_step=in_database(bench, thread, seen))
    assert isinstance(ledger, BatchLedger)
    # Whoever looks at the thread finds all but the window that is not acknowledged.
    assert all(done - written < STEPS_AT_ONCE for done, written in seen)
    assert any(done > written for done, written in seen), "each step had a commit of its own"
    hot_store.flushall()
    settings.HOT_URL = "unix:///nowhere/valkey.sock"
    before = bench.row(thread).number
    assert before > 37 - STEPS_AT_ONCE
    expire(thread)
    continued: list[int] = []
    worked(bench, taken(thread), before_step=lambda work: continued.append(work.number))
    assert continued[0] == before
    assert bench.row(thread).status == "succeeded"
    assert bench.state(thread)["n"] == 60
    assert "steps.lost" not in bench.kinds(thread)
    assert verify_thread(thread).intact
    assert appended == []


@pytest.mark.parametrize("declared", [{"node": "durable"}, {"channel": True}])
def test_a_step_of_a_durable_node_or_channel_is_committed_at_once(
    settings: Any, appended: list[int], declared: dict[str, Any]
) -> None:
    bench = bench_of(summing(**declared), settings)
    thread = bench.start(until=40)
    seen: list[tuple[int, int]] = []
    worked(bench, taken(thread), before_step=in_database(bench, thread, seen))
    assert bench.row(thread).status == "succeeded"
    written = dict(seen)
    # Step n + 1 is the one that `settle` does when n are done; all before it are there with it.
    assert {done: written[done] for done in (11, 21, 31)} == {11: 11, 21: 21, 31: 31}
    assert len(appended) > 20
    assert verify_thread(thread).intact


def test_without_such_a_declaration_the_same_steps_are_buffered(
    settings: Any, appended: list[int]
) -> None:
    bench = bench_of(summing(), settings)
    thread = bench.start(until=40)
    seen: list[tuple[int, int]] = []
    worked(bench, taken(thread), before_step=in_database(bench, thread, seen))
    assert all(written == 0 for _, written in seen)
    assert len(appended) > 20


def test_an_agent_that_acknowledges_every_second_appends_as_others_do(
    settings: Any, appended: list[int]
) -> None:
    bench = bench_of(ticking("hot", acknowledge="everysec"), settings)
    thread = bench.start(until=60)
    worked(bench, taken(thread), until=37)
    assert len(appended) > 20
    assert streams.lag_of([thread])[thread].entries == len(appended)


@pytest.mark.parametrize(
    ("durability", "declared", "reason"),
    [
        ("durable", "hot", "declare the graph with durability='hot' and the other nodes"),
        ("ephemeral", "durable", "its agent keeps nothing"),
    ],
)
def test_a_node_that_cannot_have_a_durability_of_its_own(
    durability: Any, declared: Any, reason: str
) -> None:
    graph = Graph("odd", Sums, durability=durability)
    with pytest.raises(GraphError, match=reason):
        graph.node("one", then=END, durability=declared)(lambda state, ctx: None)


def test_what_is_declared_is_kept_with_the_version() -> None:
    described = summing(node="durable")
    nodes = {node["name"]: node for node in described.describe_graph()["nodes"]}
    assert nodes["settle"]["durability"] == "durable"
    assert "durability" not in nodes["count"]
    assert described.describe_channels()["balance"]["durable"] is True
    assert "durable" not in described.describe_channels()["n"]
