"""Branches that meet: a join runs once, when all that are under way are there."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Annotated, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workers.authoring.graph import END, Append, Graph, State
from workers.checking.graphs import check_graph
from workers.node.context import Context
from workers.testing.harness import Harness

STEPS = 30


class Log(State):
    log: Annotated[list[str], Append()] = []


def graph_of(
    thens: dict[str, Any],
    name: str = "joins",
    *,
    ways: Mapping[str, Sequence[str]] = {},
    unjoined: Collection[str] = (),
) -> Graph:
    """A graph whose nodes write their names."""
    made = Graph(name, Log)

    def declare(node: str, then: Any) -> None:
        @made.node(node, then=then, ways=ways.get(node, ()), join=node not in unjoined)
        def call(state: Log, ctx: Context) -> dict[str, Any]:
            return {"log": [node]}

    for node, then in thens.items():
        declare(node, then)
    return made


TEAM = {"plan": ["a", "b", "c"], "a": "join", "b": "join", "c": "c2", "c2": "join", "join": END}
graph = graph_of(TEAM)


def steps_of(thread: Any) -> list[list[str]]:
    return [list(c.nodes) for c in sorted(thread.checkpoints, key=lambda c: c.number)][1:]


def test_branches_of_unequal_length_are_joined_once() -> None:
    thread = Harness(graph_of(TEAM)).play()
    assert steps_of(thread) == [["plan"], ["a", "b", "c"], ["c2"], ["join"]]
    assert thread.status == "succeeded"


def test_a_node_that_says_so_runs_at_each_arrival() -> None:
    thread = Harness(graph_of(TEAM, unjoined={"join"})).play()
    assert steps_of(thread) == [["plan"], ["a", "b", "c"], ["c2", "join"], ["join"]]


def test_a_loop_over_the_whole_graph_joins_in_each_round() -> None:
    def again(state: Log) -> Any:
        return "plan" if state.log.count("plan") < 3 else END

    thread = Harness(graph_of(TEAM | {"join": again}, ways={"join": ("plan", END)})).play()
    assert steps_of(thread) == [["plan"], ["a", "b", "c"], ["c2"], ["join"]] * 3


def test_a_join_waits_for_a_loop_within_a_branch() -> None:
    def more(state: Log) -> Any:
        return "b2" if state.log.count("b") < 4 else "join"

    ways = {"plan": ["a", "b"], "a": "join", "b": more, "b2": "b", "join": END}
    thread = Harness(graph_of(ways, ways={"b": ("b2", "join")})).play()
    assert thread.state["log"] == ["plan", "a", *["b", "b2"] * 3, "b", "join"]


def test_a_branch_that_ends_elsewhere_is_not_waited_for_longer() -> None:
    def nowhere(state: Log) -> Any:
        return END

    ways = {"plan": ["a", "b"], "a": "join", "b": "b2", "b2": nowhere, "join": END}
    thread = Harness(graph_of(ways, ways={"b2": ("join", END)})).play()
    assert thread.state["log"] == ["plan", "a", "b", "b2", "join"]


def test_a_node_beside_its_own_loop_works_in_each_round() -> None:
    def tick(state: Log) -> Any:
        return ["tick", "note"] if state.log.count("tick") < 3 else ["other"]

    ways = {"tick": tick, "note": END, "other": "note"}
    thread = Harness(graph_of(ways, ways={"tick": ("tick", "note", "other")})).play()
    assert thread.state["log"] == ["tick", "tick", "note", "tick", "note", "other", "note"]


def test_a_thread_pauses_before_a_join_when_it_works_not_when_it_waits() -> None:
    thread = Harness(graph_of(TEAM)).play(pause_at="join")
    assert (thread.status, thread.state["log"]) == ("paused", ["plan", "a", "b", "c", "c2"])
    assert thread.resume().state["log"][-1] == "join"
    # A fork from a step at which the join waits is joined as well.
    assert thread.fork(2, {}).state["log"] == thread.state["log"]


def test_the_check_explains_what_waits() -> None:
    notes = [f for f in check_graph(graph_of(TEAM)) if f.level == "note"]
    (result,) = [f for f in notes if f.place == "node join"]
    assert "after 1 and 2 steps" in result.said
    assert "runs once" in result.said
    assert "join=False" in result.fix
    even = {"plan": ["a", "b"], "a": "join", "b": "join", "join": END}
    assert [f for f in check_graph(graph_of(even)) if f.place == "node join"] == []
    assert [f for f in check_graph(graph_of(TEAM, unjoined={"join"})) if "once" in f.said] == []


# ---- any graph against a plain reference -----------------------------------------------------


def reference(ways: dict[str, list[str]], follow: Callable[[str, int], list[str]]) -> list[Any]:
    """The steps as a plain scheduler takes them: paths are listed, nothing is remembered."""
    entry = next(iter(ways))
    preds = {n: {m for m in ways if n in ways[m]} for n in ways}

    def paths(begin: str, end: str) -> list[list[str]]:
        results, left = [], [[begin]]
        while left:
            path = left.pop()
            for following in ways[path[-1]]:
                if following == end:
                    results.append([*path, end])
                elif following in ways and following not in path:
                    left.append([*path, following])
        return results

    def passed_always(node: str) -> set[str]:
        if node == entry:
            return {entry}
        every = [set(p) for p in paths(entry, node)]
        return set.intersection(*every) if every else {node}

    def reaches(begin: str, end: str) -> bool:
        shared = passed_always(begin) & passed_always(end)
        return any(not shared & set(path) for path in paths(begin, end))

    def waits(n: str, m: str) -> bool:
        if len(preds[n]) < 2:
            return False
        return reaches(m, n) and not (len(preds[m]) > 1 and reaches(n, m))

    steps: list[Any] = []
    frontier, count = [entry], 0
    while frontier and len(steps) < STEPS:
        now = [n for n in frontier if not any(waits(n, m) for m in frontier if m != n)] or frontier
        steps.append(now)
        count += len(now)
        chosen = {n for n in frontier if n not in now}
        for node in now:
            chosen |= {n for n in follow(node, count) if n != END}
        frontier = [n for n in ways if n in chosen]
    return steps


def chance_graph(seed: int, *, circles: bool) -> dict[str, list[str]]:
    chance = random.Random(seed)
    nodes = [f"n{i}" for i in range(chance.randint(2, 7))]
    results: dict[str, list[str]] = {}
    for index, node in enumerate(nodes):
        others = nodes if circles else nodes[index + 1 :]
        results[node] = chance.sample(others, k=min(len(others), chance.randint(0, 3)))
    return results


def chooser(seed: int, ways: dict[str, list[str]]) -> Callable[[str, int], list[str]]:
    """Which ways a node takes, by chance: all of them, some, or none; by what was done so far."""

    def follow(node: str, count: int) -> list[str]:
        if count >= STEPS // 2:
            return [END]
        chance = random.Random(f"{seed} {node} {count}")
        if chance.random() < 0.6:
            return ways[node] or [END]
        return [w for w in ways[node] if chance.random() < 0.6] or [END]

    return follow


def made_by(ways: dict[str, list[str]], follow: Any, name: str) -> Graph:
    def then(node: str) -> Any:
        return lambda state: follow(node, len(state.log))

    return graph_of(
        {node: then(node) for node in ways},
        name,
        ways={node: (*to, END) for node, to in ways.items()},
    )


def played(graph: Graph) -> list[list[str]]:
    thread = Harness(graph).play()
    assert thread.status == "succeeded", thread
    return steps_of(thread)


@pytest.mark.nightly
@given(seed=st.integers(0, 2**32), circles=st.booleans())
@settings(max_examples=300, deadline=None)
def test_any_graph_takes_the_steps_of_a_plain_scheduler(seed: int, circles: bool) -> None:
    ways = chance_graph(seed, circles=circles)
    follow = chooser(seed, ways)
    assert played(made_by(ways, follow, "any")) == reference(ways, follow)


@pytest.mark.nightly
@given(seed=st.integers(0, 2**32))
@settings(max_examples=200, deadline=None)
def test_without_circles_each_node_works_once_and_after_all_before_it(seed: int) -> None:
    ways = chance_graph(seed, circles=False)
    steps = played(made_by(ways, lambda node, _: ways[node] or [END], "straight"))
    order: Sequence[str] = list(itertools.chain(*steps))
    assert len(order) == len(set(order))
    for node in order:
        before = [m for m in order if node in ways[m]]
        assert all(order.index(m) < order.index(node) for m in before)
