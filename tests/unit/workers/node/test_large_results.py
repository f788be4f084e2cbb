"""Results larger than a record: the node goes on with the value, at first and from the record."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict

from checkpoints.errors import ContentAway
from checkpoints.state import marked
from tests.unit.workers.conftest import Bench
from workers.authoring.graph import END, Graph, State, tool
from workers.node.context import Context
from workers.step.results import RECORD_BYTES

EITHER = Bench
pytestmark = pytest.mark.requirement("F03")
LARGE: dict[str, Any] = {
    "text": "é" * RECORD_BYTES,
    "bytes": b"\0\xff" * (RECORD_BYTES // 2),
    "list": [{"n": float("inf"), "text": "x" * 1_000_000} for _ in range(9)],
}


class Seen(State):
    done: bool = False


class World:
    """What the calls return, how often they were made, what the node got, and whether it fails."""

    returns: Any = None
    calls = 0
    got: list[Any] = []
    fails = False


def give() -> Any:
    World.calls += 1
    return World.returns


def take_back(args: Any, result: Any, *, key: str) -> Any:
    World.got.append(result)
    return World.returns


@tool("large.give", undo=take_back)
def give_outside(*, key: str) -> Any:
    return give()


graph = Graph("large", Seen)


@graph.node(then=END)
def work(state: Seen, ctx: Context) -> dict[str, Any]:
    effect = ctx.effect(give_outside, {}).result
    activity = ctx.activity(give)
    (saved,) = ctx.recorded("saved", {}) or [None]
    if saved is None:
        ctx.record("saved", {}, World.returns)
    World.got.append((effect, activity, saved))
    if World.fails:
        raise ValueError("after the calls")
    return {"done": True}


alone = Graph("large", Seen)


@alone.node(then=END)
def act(state: Seen, ctx: Context) -> dict[str, Any]:
    World.got.append(ctx.effect(give_outside, {}).result)
    return {"done": True}


class Stubborn(BaseModel):
    """What no JSON can be made of."""

    model_config = ConfigDict(arbitrary_types_allowed=True)
    note: Any


def begin(make_bench: Callable[[Any], EITHER], returns: Any) -> tuple[EITHER, Any]:
    World.returns, World.calls, World.got, World.fails = returns, 0, [], True
    bench = make_bench(SimpleNamespace(graph=graph, __name__=__name__, __file__=__file__))
    thread = bench.start()
    row = bench.advance(thread)
    assert (row.status, World.calls) == ("failed", 2), row.status_reason
    assert "after the calls" in row.status_reason
    World.fails = False
    return bench, thread


@pytest.mark.slow
@pytest.mark.parametrize("kind", LARGE)
def test_the_node_gets_the_same_value_when_it_works_again(
    make_bench: Callable[[Any], EITHER], kind: str
) -> None:
    value = LARGE[kind]
    bench, thread = begin(make_bench, value)
    bench.retry(thread)
    bench.advance(thread)
    assert bench.state(thread)["done"] is True
    assert World.calls == 2
    assert World.got == [(value, value, None), (value, value, value)]
    records = bench.activities(thread)
    assert [row.state for row in records] == ["done"] * 3
    for row in records:
        part = marked.large_part(row.result)
        assert part is not None
        assert part["bytes"] > RECORD_BYTES
        assert part["file"]["$artifact"] == part["sha256"]
        assert 0 < len(part["start"]) <= marked.START_BYTES
    assert bench.intact(thread)


def test_without_its_file_the_node_gets_no_other_value(
    make_bench: Callable[[Any], EITHER], monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*args: Any, **more: Any) -> Any:
        raise ContentAway("The storage takes no file: No space left on device.")

    with monkeypatch.context() as patch:
        patch.setattr("workers.step.ledger.DatabaseLedger.artifact", away)
        bench, thread = begin(make_bench, LARGE["text"])
    assert [row.state for row in bench.activities(thread)] == ["done"] * 3
    bench.retry(thread)
    row = bench.advance(thread)
    assert (row.status, World.calls, len(World.got)) == ("failed", 2, 1)
    assert "'large.give' happened" in row.status_reason
    assert f"at most {RECORD_BYTES:,}" in row.status_reason
    assert "GATEPOST_FILES" in row.status_reason


def test_an_undo_gets_the_result_and_may_return_as_much(
    make_bench: Callable[[Any], EITHER],
) -> None:
    World.returns, World.calls, World.got, World.fails = LARGE["text"], 0, [], False
    names = {"graph": alone, "TOOLS": {"large.give": give_outside}}
    bench = make_bench(SimpleNamespace(**names, __name__=__name__, __file__=__file__))
    thread = bench.start()
    bench.advance(thread)
    bench.roll_back(thread, 0)
    assert World.got == [LARGE["text"], LARGE["text"]]
    (effect,) = bench.activities(thread)
    assert effect.state == "compensated"
    assert marked.large_part(effect.undo_result) is not None


REFUSED: dict[str, tuple[Any, str]] = {
    "secret": ({"body": "ghp_" + "a1B2" * 9}, "leave it out"),
    "path": ({"file": Path("/tmp/receipt.pdf")}, "PosixPath is not a JSON type"),
    "generator": ((n for n in range(3)), "generator has no JSON: it can be read once"),
    "model": (Stubborn(note=object()), "cannot be written as JSON"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_an_effect_that_happened_is_on_record_as_done(
    make_bench: Callable[[Any], EITHER], kind: str
) -> None:
    """Recorded as failed, a retry would repeat it."""
    World.returns, why = REFUSED[kind]
    World.calls, World.got, World.fails = 0, [], False
    bench = make_bench(SimpleNamespace(graph=alone, __name__=__name__, __file__=__file__))
    thread = bench.start()
    row = bench.advance(thread)
    assert (row.status, World.calls) == ("failed", 1)
    assert why in row.status_reason
    assert "'large.give' happened and is on record as done" in row.status_reason
    (effect,) = bench.activities(thread)
    assert effect.state == "done"
    assert why in effect.result["withheld"]
    bench.retry(thread)
    bench.advance(thread)
    assert bench.state(thread)["done"] is True
    assert World.calls == 1
    assert World.got == [effect.result]
