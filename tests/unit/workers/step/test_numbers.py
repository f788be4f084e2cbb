"""Numbers that JSON writes otherwise than Python: a resumed thread sees what it would have seen.

Else what a node makes of a number depends on where the thread was interrupted, and a recorded
activity is asked with another input.
"""

from __future__ import annotations

import sys
from ast import literal_eval
from collections.abc import Callable
from typing import Annotated, Any

from checkpoints.states import Status
from tests.unit.workers.conftest import Bench
from workers.authoring.graph import END, Append, Graph, State, Sum
from workers.node.context import Context

VALUES: tuple[float, ...] = (-0.0, 0.0, 2.0, -2.0, 2.5, 1e15, 1e16, 1e22, -1.5e300, 5e-324, 1e-7)


class Numbers(State):
    loose: Any = None
    listed: list[float] = []
    deep: dict[str, Any] = {}
    total: Annotated[float, Sum()] = 0.0
    items: Annotated[list[Any], Append()] = []
    seen: Annotated[list[str], Append()] = []


graph = Graph("numbers", Numbers)


def measure() -> list[float]:
    """A call whose result has such numbers."""
    return list(VALUES)


def as_seen(state: Numbers) -> list[str]:
    """What a node can make of them."""
    return [repr(v) for v in (state.loose, state.listed, state.deep, state.total, state.items)]


@graph.node(then="read")
def write(state: Numbers, ctx: Context) -> dict[str, Any]:
    values, half = list(VALUES), 0.5
    return {
        "loose": values,
        "listed": values,
        "deep": {"a": [{"b": values}]},
        "total": half + half,
        "items": values,
    }


@graph.node(then="read_again")
def read(state: Numbers, ctx: Context) -> dict[str, Any]:
    return {"seen": as_seen(state), "total": -1.0}


@graph.node(then=END)
def read_again(state: Numbers, ctx: Context) -> dict[str, Any]:
    return {"seen": [*as_seen(state), repr(ctx.activity(measure))]}


def test_a_node_sees_the_same_numbers_with_and_without_a_pause(
    make_bench: Callable[[Any], Bench],
) -> None:
    bench = make_bench(sys.modules[__name__])
    whole, paused = bench.start(), bench.start()
    assert bench.advance(whole).status is Status.SUCCEEDED
    n_slices = 1
    while bench.advance(paused, slice_seconds=0).status is not Status.SUCCEEDED:
        n_slices += 1
    assert n_slices > 1
    assert bench.state(whole)["seen"] == bench.state(paused)["seen"]
    assert len(bench.state(whole)["seen"]) == 11
    for text in bench.state(whole)["seen"]:
        assert "-0.0" not in text, "JSON knows one zero"
    assert literal_eval(bench.state(whole)["seen"][-1]) == list(VALUES)
    assert bench.state(whole)["listed"] == list(VALUES)
