"""Bytes in the state are refused whatever they are, with one sentence, in a play and in a worker.

A generated sweep: each place in a value with bytes that are text and bytes that are none. A type
that says its own form of bytes keeps it.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

import pytest
from pydantic import BaseModel, ConfigDict, RootModel, field_serializer

from checkpoints.state.deltas import NO_BYTES
from gatepost import END, Graph, Harness, State
from tests.unit.workers.conftest import Bench
from workers.authoring.errors import GraphError

BYTES = [b"", b"tea", "grüße".encode(), b"\xff", b"\0", b"tea\xff"]


class Page(BaseModel):
    raw: bytes = b""
    more: Any = None


class Wrapped(RootModel[bytes]): ...


@dataclass
class Part:
    raw: bytes


class Pair(NamedTuple):
    name: str
    raw: bytes


class Encoded(BaseModel):
    model_config = ConfigDict(ser_json_bytes="base64", val_json_bytes="base64")
    raw: bytes


class Spelled(BaseModel):
    raw: bytes

    @field_serializer("raw")
    def _hex(self, raw: bytes) -> str:
        return raw.hex()


class Work(State):
    raw: bytes | None = None
    several: list[bytes] = []
    named: dict[str, bytes] = {}
    keys: dict[bytes, int] = {}
    unique: set[bytes] = set()
    line: deque[bytes] = deque()
    pair: Pair | None = None
    page: Page | None = None
    part: Part | None = None
    parts: list[Part] = []
    wrapped: Wrapped | None = None
    plain: Any = None
    encoded: Encoded | None = None
    spelled: Spelled | None = None


PLACES: dict[str, Callable[[bytes], dict[str, Any]]] = {
    "channel": lambda raw: {"raw": raw},
    "list": lambda raw: {"several": [raw]},
    "dict": lambda raw: {"named": {"a": raw}},
    "keys": lambda raw: {"keys": {raw: 1}},
    "set": lambda raw: {"unique": {raw}},
    "deque": lambda raw: {"line": deque([raw])},
    "named tuple": lambda raw: {"pair": Pair("a", raw)},
    "model": lambda raw: {"page": Page(raw=raw)},
    "any in a model": lambda raw: {"page": Page(more={"deep": [raw]})},
    "dataclass": lambda raw: {"part": Part(raw)},
    "list of dataclasses": lambda raw: {"parts": [Part(raw)]},
    "root model": lambda raw: {"wrapped": Wrapped(raw)},
    "any": lambda raw: {"plain": raw},
    "list in any": lambda raw: {"plain": [{"a": raw}]},
}


def graph_of(update: Callable[[], dict[str, Any]]) -> Graph:
    graph = Graph("bytes", Work)

    @graph.node(then=END)
    def work(state: Work, ctx: Any) -> dict[str, Any]:
        return update()

    return graph


UPDATE: dict[str, Any] = {}
graph = graph_of(lambda: UPDATE)


@pytest.mark.parametrize("name", PLACES)
def test_bytes_are_refused_whatever_they_are(name: str) -> None:
    reasons = set()
    for raw in BYTES:
        thread = Harness(graph_of(lambda raw=raw: PLACES[name](raw))).play()  # type: ignore[misc]
        assert thread.status == "failed", (name, raw, thread.state)
        reasons.add(thread.reason)
    assert len(reasons) == 1, reasons
    assert NO_BYTES in reasons.pop()


def test_a_worker_says_the_same(make_bench: Callable[[Any], Bench]) -> None:
    bench = make_bench(sys.modules[__name__])
    for name, make in PLACES.items():
        for raw in (b"tea", b"\xff"):
            UPDATE.clear()
            UPDATE.update(make(raw))
            row = bench.advance(bench.start())
            assert row.status == "failed", (name, raw)
            assert NO_BYTES in row.status_reason, row.status_reason


@pytest.mark.parametrize("raw", BYTES)
def test_a_type_with_a_form_of_its_own_keeps_it(raw: bytes) -> None:
    thread = Harness(
        graph_of(lambda: {"encoded": Encoded(raw=raw), "spelled": Spelled(raw=raw)})
    ).play()
    assert thread.status == "succeeded", thread.reason
    assert Encoded.model_validate_json(Encoded(raw=raw).model_dump_json()).raw == raw
    assert thread.state["encoded"] == Encoded(raw=raw).model_dump(mode="json")
    assert thread.state["spelled"] == {"raw": raw.hex()}


class Kind(Enum):
    TEA = b"tea"


def test_an_enumeration_of_bytes_is_refused_too() -> None:
    class Chosen(State):
        kind: Kind | None = None

    graph = Graph("kinds", Chosen)

    @graph.node(then=END)
    def work(state: Chosen, ctx: Any) -> dict[str, Any]:
        return {"kind": Kind.TEA}

    thread = Harness(graph).play()
    assert NO_BYTES in thread.reason, thread.state


@pytest.mark.parametrize("raw", BYTES)
def test_a_default_of_bytes_is_refused_when_the_graph_is_described(raw: bytes) -> None:
    state = type("Broken", (State,), {"__annotations__": {"raw": bytes}, "raw": raw})
    graph = Graph("defaults", state)

    @graph.node(then=END)
    def work(state: Any, ctx: Any) -> None: ...

    with pytest.raises(GraphError, match="The default of the channel 'raw' can't be kept: bytes"):
        Harness(graph).play()
