"""An agent that hands a hostile value to one place of the author's interface."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any
from uuid import UUID

from workers.authoring.graph import END, Append, Gate, Graph, Merge, Retry, State, Tool, Way, tool
from workers.node.context import Context


class Colour(Enum):
    RED = "red"


class Text(str):
    """A text of a type of its own."""


class Trouble(Exception):
    """What an author raises."""


class Opaque:
    """An object that nothing is known of, and whose every description fails."""

    def __repr__(self) -> str:
        raise RuntimeError("no description")

    __str__ = __repr__


def deep(levels: int) -> Any:
    value: Any = 1
    for level in range(levels):
        value = {"in": value} if level % 2 else [value]
    return value


def cyclic() -> Any:
    value: dict[str, Any] = {}
    value["self"] = [value]
    return value


VALUES: dict[str, Callable[[], Any]] = {
    "none": lambda: None,
    "true": lambda: True,
    "integer": lambda: 7,
    "negative": lambda: -1,
    "huge integer": lambda: 10**400,
    "minus zero": lambda: -0.0,
    "fraction": lambda: 1.5,
    "nan": lambda: math.nan,
    "infinity": lambda: math.inf,
    "empty text": lambda: "",
    "blank text": lambda: " ",
    "long text": lambda: "x" * 300_000,
    "nul": lambda: "a\0b",
    "surrogate": lambda: "\ud800",
    "text of its own": lambda: Text("abc"),
    "bytes": lambda: b"abc",
    "list": lambda: [1, "a"],
    "tuple": lambda: (1, 2),
    "set": lambda: {1, 2},
    "dict": lambda: {"a": 1},
    "number keys": lambda: {1: 2},
    "deep": lambda: deep(130),
    "very deep": lambda: deep(20_000),
    "cyclic": cyclic,
    "cyclic list": lambda: (lambda a: a.append(a) or a)([]),
    "generator": lambda: (n for n in range(3)),
    "function": lambda: cyclic,
    "failing function": lambda: lambda *_: 1 / 0,
    "type": lambda: dict,
    "datetime": lambda: datetime.now(UTC),
    "decimal": lambda: Decimal("1.50"),
    "decimal nan": lambda: Decimal("NaN"),
    "uuid": lambda: UUID(int=1),
    "enum": lambda: Colour.RED,
    "model": lambda: Inner(name="a"),
    "cyclic model": lambda: Inner.model_construct(name=cyclic()),
    "deep model": lambda: Inner.model_construct(name=deep(20_000)),
    "opaque": Opaque,
    "exception": lambda: Trouble("x"),
    "gate": lambda: Gate("Do it?"),
    "retry": lambda: Retry(attempts=2),
}


class Inner(State):
    name: Any = ""


class Hostile(State):
    entry: str = "nothing"
    value: str = ""
    facts: Annotated[dict[str, Any], Merge()] = {}
    items: Annotated[list[Any], Append()] = []
    number: int = 0
    share: float = 0.0
    names: list[str] = []
    inner: Inner = Inner()
    out: str = ""


def take(value: Any = None, *more: Any, **named: Any) -> str:
    return "taken"


@tool("take", idempotent=True)
def take_it(value: Any, *, key: str) -> str:
    """Take anything."""
    return "taken"


current: dict[str, Any] = {}


def give() -> Any:
    return current["value"]


@tool("give", idempotent=True)
def give_it(*, key: str) -> Any:
    """Give the value back."""
    return current["value"]


async def give_later() -> Any:
    return current["value"]


def fail() -> Any:
    raise RuntimeError(current["value"])


def progress(ctx: Context, **what: Any) -> None:
    ctx.activity(lambda: ctx.progress(**what), key="progress")


Entry = Callable[[Context, Any], Any]
ENTRIES: dict[str, Entry] = {
    "activity": lambda ctx, v: ctx.activity(v),
    "activity argument": lambda ctx, v: ctx.activity(take, v),
    "activity keyword": lambda ctx, v: ctx.activity(take, named=v),
    "activity key": lambda ctx, v: ctx.activity(take, key=v),
    "activity retry": lambda ctx, v: ctx.activity(take, retry=v),
    "activity cached": lambda ctx, v: ctx.activity(take, cached=v),
    "activity result": lambda ctx, v: ctx.activity(give),
    "activity result later": lambda ctx, v: ctx.activity(give_later),
    "activity error": lambda ctx, v: ctx.activity(fail),
    "model part": lambda ctx, v: ctx.model(v),
    "model name": lambda ctx, v: ctx.model("a", model=v),
    "model system": lambda ctx, v: ctx.model("a", system=v),
    "model temperature": lambda ctx, v: ctx.model("a", temperature=v),
    "model max_tokens": lambda ctx, v: ctx.model("a", max_tokens=v),
    "model key": lambda ctx, v: ctx.model("a", key=v),
    "model answer": lambda ctx, v: ctx.model("answer"),
    "effect": lambda ctx, v: ctx.effect(v, {}),
    "effect arguments": lambda ctx, v: ctx.effect(take_it, v),
    "effect argument": lambda ctx, v: ctx.effect(take_it, {"value": v}),
    "effect gate": lambda ctx, v: ctx.effect(take_it, {"value": 1}, gate=v),
    "effect result": lambda ctx, v: ctx.effect(give_it, {}),
    "gate title": lambda ctx, v: ctx.effect(take_it, {"value": 1}, gate=Gate(v)),
    "gate description": lambda ctx, v: ctx.effect(take_it, {"value": 1}, gate=Gate("A", v)),
    "gate risk": lambda ctx, v: ctx.effect(take_it, {"value": 1}, gate=Gate("A", risk=v)),
    "gate expiry": lambda ctx, v: ctx.effect(take_it, {"value": 1}, gate=Gate("A", expires_in=v)),
    "gate reasons": lambda ctx, v: ctx.effect(take_it, {"value": 1}, gate=Gate("A", reasons=v)),
    "gate reason": lambda ctx, v: ctx.effect(take_it, {"value": 1}, gate=Gate("A", reasons=(v,))),
    "gate answer": lambda ctx, v: ctx.effect(take_it, {"value": 1}, gate=Gate("A", answer=v)),
    "question": lambda ctx, v: ctx.ask(v),
    "question schema": lambda ctx, v: ctx.ask("A?", schema=v),
    "question risk": lambda ctx, v: ctx.ask("A?", risk=v),
    "question description": lambda ctx, v: ctx.ask("A?", description=v),
    "question expiry": lambda ctx, v: ctx.ask("A?", expires_in=v),
    "question unknown": lambda ctx, v: ctx.ask("A?", unknown=v),
    "interrupt": lambda ctx, v: ctx.interrupt(v),
    "interrupt action": lambda ctx, v: ctx.interrupt(
        {"action_request": {"action": v, "args": {}}, "config": {"allow_accept": True}}
    ),
    "interrupt args": lambda ctx, v: ctx.interrupt(
        {"action_request": {"action": "a", "args": v}, "config": {"allow_accept": True}}
    ),
    "interrupt argument": lambda ctx, v: ctx.interrupt(
        {"action_request": {"action": "a", "args": {"a": v}}, "config": {"allow_accept": True}}
    ),
    "thought": lambda ctx, v: ctx.think(v),
    "thought fact": lambda ctx, v: ctx.think("a", fact=v),
    "progress done": lambda ctx, v: progress(ctx, done=v),
    "progress total": lambda ctx, v: progress(ctx, done=1, total=v),
    "progress text": lambda ctx, v: progress(ctx, done=1, text=v),
    "progress cursor": lambda ctx, v: progress(ctx, cursor=v),
    "progress every": lambda ctx, v: progress(ctx, cursor=1, every=v),
    "artifact name": lambda ctx, v: ctx.artifact(v, b"1", "text/plain"),
    "artifact data": lambda ctx, v: ctx.artifact("a", v, "text/plain"),
    "artifact chunk": lambda ctx, v: ctx.artifact("a", [v], "text/plain"),
    "artifact media type": lambda ctx, v: ctx.artifact("a", b"1", v),
    "open artifact": lambda ctx, v: ctx.open_artifact(v),
    "open artifact sha": lambda ctx, v: ctx.open_artifact({"$artifact": v}),
    "artifact path": lambda ctx, v: ctx.artifact_path({"$artifact": v}),
    "sleep": lambda ctx, v: ctx.sleep(v),
}
UPDATES: dict[str, Callable[[Any], Any]] = {
    "update": lambda v: v,
    "merged": lambda v: {"facts": {"a": v}},
    "merged whole": lambda v: {"facts": v},
    "appended": lambda v: {"items": [v]},
    "appended whole": lambda v: {"items": v},
    "channel": lambda v: {v: 1} if v.__hash__ else {"facts": v},
    "number": lambda v: {"number": v},
    "share": lambda v: {"share": v},
    "names": lambda v: {"names": v},
    "name": lambda v: {"names": [v]},
    "inner": lambda v: {"inner": v},
    "inner name": lambda v: {"inner": {"name": v}},
    "inner model": lambda v: {"inner": Inner.model_construct(name=v)},
}
WAYS: dict[str, Callable[[Any], Any]] = {
    "way": lambda v: v,
    "way to": lambda v: Way(v),
    "way in list": lambda v: Way([v]),
    "way because": lambda v: Way("end", v),
}

graph = Graph("hostile", Hostile)


def choose(state: Hostile) -> Any:
    if state.entry in WAYS:
        return WAYS[state.entry](VALUES[state.value]())
    return Way("end")


@graph.node(then=choose, ways=("end",))
def begin(state: Hostile, ctx: Context) -> Any:
    if state.entry in ENTRIES:
        current["value"] = value = VALUES[state.value]()
        ENTRIES[state.entry](ctx, value)
    elif state.entry == "raise":
        error: Any = VALUES[state.value]()
        raise RuntimeError(error)
    elif state.entry in UPDATES:
        return UPDATES[state.entry](VALUES[state.value]())
    return {"out": "begun"}


@graph.node(then=END)
def end(state: Hostile, ctx: Context) -> dict[str, Any]:
    return {"out": "done"}


TOOLS: dict[str, Tool] = {t.name: t for t in (take_it, give_it)}
