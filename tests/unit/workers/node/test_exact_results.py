"""What a call returned is what its node gets, at first and from the record, whatever it is."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest

from checkpoints.state import marked
from tests.unit.workers.conftest import Bench
from workers.authoring.graph import END, Graph, State, tool
from workers.node.context import Context

EITHER = Bench
pytestmark = pytest.mark.requirement("F03")
RESULTS: list[Any] = [
    "a\0b",
    "half \ud83d",
    2**80,
    float("inf"),
    b"\0\xff",
    (1, [b"x"]),
    {"a", "b"},
    Decimal("1.10"),
    datetime(2026, 1, 1, tzinfo=UTC),
    date(2026, 1, 1),
    UUID(int=7),
    {1: "a", "b": None, "c\0": [2**60]},
    {"$exact": {"int": "7"}},
]


class Seen(State):
    done: bool = False


class World:
    """What the calls return, how often they were made, what the node got, and whether it fails."""

    calls = 0
    got: list[Any] = []
    fails = False


def give(kind: str) -> Any:
    World.calls += 1
    return RESULTS


@tool("exact.give")
def give_outside(*, key: str) -> Any:
    return give("effect")


graph = Graph("exact", Seen)


@graph.node(then=END)
def work(state: Seen, ctx: Context) -> dict[str, Any]:
    effect = ctx.effect(give_outside, {}).result
    activity = ctx.activity(give, "activity")
    (saved,) = ctx.recorded("saved", {}) or [None]
    if saved is None:
        ctx.record("saved", {}, RESULTS)
    World.got.append((effect, activity, saved))
    if World.fails:
        raise ValueError("after the calls")
    return {"done": True}


def token(kind: str) -> Any:
    return {"body": b"\0ghp_" + b"a1B2" * 9}


leaks = Graph("leaks", Seen)


@leaks.node(then=END)
def leak(state: Seen, ctx: Context) -> dict[str, Any]:
    ctx.activity(token, "x")
    return {"done": True}


def test_the_node_gets_the_same_values_when_it_works_again(
    make_bench: Callable[[Any], EITHER],
) -> None:
    World.calls, World.got, World.fails = 0, [], True
    bench = make_bench(SimpleNamespace(graph=graph, __name__=__name__, __file__=__file__))
    thread = bench.start()
    assert bench.advance(thread).status == "failed"
    World.fails = False
    bench.retry(thread)
    bench.advance(thread)
    assert bench.state(thread)["done"] is True
    assert World.calls == 2
    first, again = World.got
    assert first == (RESULTS, RESULTS, None)
    assert again == (RESULTS, RESULTS, RESULTS)
    assert [[type(x) for x in got] for got in again] == [[type(x) for x in RESULTS]] * 3
    records = bench.activities(thread)
    assert [row.state for row in records] == ["done"] * 3
    for row in records:
        assert {path for path, _ in marked.marks(row.result)} >= {"$[0]", "$[4]", "$[12]"}
    assert bench.intact(thread)


def test_a_secret_in_a_mark_is_found(make_bench: Callable[[Any], EITHER]) -> None:
    bench = make_bench(SimpleNamespace(graph=leaks, __name__=__name__, __file__=__file__))
    thread = bench.start()
    row = bench.advance(thread)
    assert row.status == "failed"
    assert "leave it out" in row.status_reason
