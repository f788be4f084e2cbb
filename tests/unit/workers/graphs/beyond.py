"""An agent that hands a value beyond a limit to the entry it is told; `none` does nothing wrong."""

from __future__ import annotations

import math
from typing import Annotated, Any

from workers.authoring.graph import END, Gate, Graph, Merge, State, Tool, Way, tool
from workers.node.context import Context

MIB = 1024 * 1024


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


# What no entry point takes: {limit: value}. `size` differs from entry point to entry point.
BEYOND: dict[str, Any] = {
    "depth": nested(130),
    "key": {"k" * 1_001: 1},
    "integer": 2**53,
    "negative integer": -(2**53),
    "NaN": math.nan,
    "infinity": math.inf,
    "NUL": "a\0b",
    "surrogate": "\ud800",
    "key with NUL": {"a\0": 1},
    "type": {1, 2},
    "key of another type": {1: 2},
}
LARGE = {"thought": 300 * 1024, "way": 300 * 1024, "title": 300 * 1024}


def beyond(limit: str, entry: str) -> Any:
    """The value, at `here` of an object."""
    if limit == "size":
        return {"here": "x" * LARGE.get(entry, 9 * MIB)}
    return {"here": BEYOND[limit]}


class Beyond(State):
    entry: str = "none"
    limit: str = ""
    facts: Annotated[dict[str, Any], Merge()] = {}
    out: str = ""


class Odd(Exception):
    pass


def giving(limit: str, entry: str) -> Any:
    return beyond(limit, entry)


def taking(value: Any) -> str:
    return "taken"


@tool("give", idempotent=True)
def give(limit: str, *, key: str) -> Any:
    """Give back what nobody can keep."""
    return beyond(limit, "effect result")


@tool("take", idempotent=True)
def take(value: Any, *, key: str) -> str:
    """Take whatever comes."""
    return "taken"


graph = Graph("beyond", Beyond)


def choose(state: Beyond) -> Way:
    if state.entry == "way":
        return Way("end", _text(state.limit, "way"))
    return Way("end", "as ever")


def _text(limit: str, entry: str) -> str:
    result = beyond(limit, entry)["here"]
    return str(result)


@graph.node(then=choose, ways=("end",))
def begin(state: Beyond, ctx: Context) -> dict[str, Any]:
    entry, limit = state.entry, state.limit
    if entry == "update":
        return {"facts": beyond(limit, entry)}
    if entry == "result":
        ctx.activity(giving, limit, entry)
    elif entry == "arguments":
        ctx.activity(taking, beyond(limit, entry))
    elif entry == "effect arguments":
        ctx.effect(take, {"value": beyond(limit, entry)})
    elif entry == "effect result":
        ctx.effect(give, {"limit": limit})
    elif entry == "thought":
        ctx.think("as follows", **beyond(limit, entry))
    elif entry == "error":
        raise Odd(_text(limit, entry))
    elif entry == "error of an activity":
        ctx.activity(failing, limit)
    elif entry == "key":
        ctx.activity(taking, 1, key=_text(limit, entry))
    elif entry == "title":
        ctx.effect(take, {"value": 1}, gate=Gate(_text(limit, entry)))
    elif entry == "question":
        ctx.ask(_text(limit, entry))
    elif entry == "sleep":
        ctx.sleep(BEYOND[limit])
    elif entry == "deadline":
        ctx.effect(take, {"value": 1}, gate=Gate("Take it?", expires_in=BEYOND[limit]))
    elif entry == "refused":
        ctx.effect(take, {"value": 1}, gate=Gate("Refused by the database"))
    elif entry == "file name":
        ctx.artifact(_text(limit, entry), b"1", "text/plain")
    elif entry == "media type":
        ctx.artifact("a", b"1", _text(limit, entry))
    return {"out": "begun"}


def failing(limit: str) -> None:
    raise Odd(_text(limit, "error"))


@graph.node(then=END)
def end(state: Beyond, ctx: Context) -> dict[str, Any]:
    return {"out": "done"}


TOOLS: dict[str, Tool] = {t.name: t for t in (give, take)}
