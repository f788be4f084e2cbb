"""Any graph, whatever people do to its threads: both ledgers hold the same states; they fold."""

from __future__ import annotations

import itertools
import random
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Annotated, Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from checkpoints import store
from checkpoints.errors import GatepostError
from checkpoints.queries.states import materialized
from checkpoints.state.schema import Upgrades
from checkpoints.states import Status
from tests.unit.workers.conftest import Bench
from workers.authoring.graph import END, Append, Graph, Merge, State, Sum
from workers.code.registry import announce
from workers.node.context import Context

from .test_any_verbs import work

MOST, VERBS = 12, 8  # items in the log, after which a thread comes to its end
NAMES = (f"any-graph-{number}" for number in itertools.count())
HERE = sys.modules[__name__]


class Shape(State):
    log: Annotated[list[str], Append()] = []
    total: Annotated[int, Sum()] = 0
    facts: Annotated[dict[str, Any], Merge()] = {}
    own: dict[str, Any] = {}
    last: Any = None


class Renamed(State):
    entries: Annotated[list[str], Append()] = []
    total: Annotated[int, Sum()] = 0
    facts: Annotated[dict[str, Any], Merge()] = {}
    own: dict[str, Any] = {}
    last: Any = None
    count: int = 0


upgrades = Upgrades()


@upgrades.step(1)
def renamed(state: dict[str, Any]) -> dict[str, Any]:
    entries = state.pop("log")
    return {**state, "entries": entries, "count": len(entries)}


def entries_of(state: Any) -> list[str]:
    results: list[str] = state.entries if isinstance(state, Renamed) else state.log
    return results


def look(text: str) -> str:
    return text[::-1]


def in_turns(seed: int) -> bool:
    """Whether the nodes of a step take turns, so that their events have one order."""
    return seed % 2 == 1


def graph_of(seed: int, name: str, *, form: int = 1) -> Graph:
    """The graph of this seed: two to six nodes, ways that fan out, meet, choose, go in circles."""
    chance = random.Random(seed)
    shape = {1: Shape, 2: Renamed}[form]
    graph = Graph(name, shape, version=form, schema_version=form, upgrades=upgrades)
    graph.nodes_at_once = 1 if in_turns(seed) else 8
    nodes = [f"n{i}" for i in range(chance.randint(2, 6))]
    for node in nodes:
        others = chance.sample(nodes, k=chance.randint(1, min(3, len(nodes))))
        writes = chance.sample(("total", "facts", "think", "look", "own"), k=2)
        writes += ["last"] * (node == "n0")
        _declare(graph, node, others, writes, spread=chance.random() < 0.6, form=form)
    return graph


def _declare(
    graph: Graph, name: str, ways: list[str], writes: list[str], *, spread: bool, form: int
) -> None:
    def then(state: Any) -> Any:
        entries = entries_of(state)
        if len(entries) >= MOST:
            return END
        return ways if spread else ways[len(entries) % len(ways)]

    @graph.node(name, then=then, ways=[*ways, END])
    def call(state: Any, ctx: Context) -> dict[str, Any]:
        number = len(entries_of(state))
        results: dict[str, Any] = {"log" if form == 1 else "entries": [f"{name} {number}"]}
        if "think" in writes:
            ctx.think(f"{name} saw {number}")
        if "look" in writes:
            results["facts"] = {"looked": ctx.activity(look, f"{name}{number}")}
        if "total" in writes:
            results["total"] = number
        if "facts" in writes:
            results.setdefault("facts", {})[name] = {"at": number}
        # Two nodes of one step that set the same channel fail it, which is a play as well.
        if "own" in writes:
            results["own"] = {**state.own, name: [number, None, 1e16]}
        if "last" in writes:
            results["last"] = [name, {"n": number}]
        return results


def play(bench: Bench, seed: int, name: str) -> tuple[list[Any], list[str]]:
    """(threads, what each verb led to)."""
    chance = random.Random(seed)
    bench.install(graph_of(seed, name), {}, HERE)
    threads = [bench.start(log=["begun"])]
    work(bench, threads[0])
    messages = [f"started -> {bench.row(threads[0]).status}"]
    newest = 1
    for turn in range(VERBS):
        if turn == VERBS // 2:
            newest = 2
            bench.install(graph_of(seed, name, form=2), {}, HERE)
        thread = chance.choice(threads)
        number = chance.randint(0, bench.row(thread).number)
        verb = chance.choice(["fork", "fork", "roll_back", "edit", "retry", "resume"])
        changes = {"total": number, "last": {"edited": [number]}}
        try:
            if verb == "fork":
                threads.append(bench.fork(thread, number, changes if number % 2 else {}))
                thread = threads[-1]
            elif verb == "roll_back":
                bench.begin_roll_back(thread, number)
            elif verb == "edit":
                bench.edit(thread, changes, "on second thought")
            else:
                getattr(bench, verb)(thread)
        except GatepostError as error:
            verb = f"{verb} refused: {type(error).__name__}"
        work(bench, thread)
        row = bench.row(thread)
        messages.append(f"{verb} -> {row.status} {row.step} {row.branch} form {newest}")
    return threads, messages


@pytest.fixture(scope="module")
def counted() -> Iterator[Counter[str]]:
    """What was played in all examples: a property of plays in which nothing happens is none."""
    seen: Counter[str] = Counter()
    yield seen
    least = {"nodes": 50, "parallel": 10, "fork": 10, "rollback": 5, "edit": 1, "upgrade": 5}
    assert all(seen[what] >= times for what, times in least.items()), seen


@pytest.mark.slow
@pytest.mark.requirement("A20")
@given(seed=st.integers(0, 2**32))
@settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_any_graph_folds(db: None, counted: Counter[str], seed: int) -> None:
    name = next(NAMES)
    agent = announce(graph_of(seed, name), {}, [HERE])
    real = Bench(agent, store.create_workspace(name, actor="user:0"))
    threads, _ = play(real, seed, name)
    for one in threads:
        assert real.intact(one)
        _same_states(real, one, counted)
        assert real.row(one).status in (Status.SUCCEEDED, Status.FAILED, Status.PAUSED)


def _same_states(real: Bench, one: UUID, counted: Counter[str]) -> None:
    """Each checkpoint by keyframe, and from the deltas alone."""
    for here in real.checkpoints(one):
        state = materialized.materialise(one, here.id).state
        assert materialized.materialise(one, here.id, from_deltas=True).state == state
        counted[here.source] += 1
        counted["nodes"] += len(here.nodes)
        counted["parallel"] += len(here.nodes) > 1
