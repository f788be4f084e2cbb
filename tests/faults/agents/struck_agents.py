"""A lead whose twenty counters are struck while they work; every fifth one hands over to an heir.

What they do is seen in the family's folder: a line per call of the tool, with its key.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import tree_strikes  # type: ignore[import-not-found]

from gatepost import END, Context, Graph, State, tool

tree_strikes.install()
FIRST = 5  # so many children are joined before the others
HOLDS = 1.0  # seconds that somebody stays at work, so that he can be struck


class Number(State):
    folder: str
    root: str
    number: int
    square: int = 0


class Numbers(State):
    folder: str
    fan_out: int
    point: str = ""
    who: str = ""
    at_most: int | None = None
    total: int = 0
    early: int = 0


counter = Graph("struck-counter", Number)
heir = Graph("struck-heir", Number)
lead = Graph("struck-lead", Numbers)


def trace(folder: str, name: str, text: str) -> None:
    """One line per call; short appends of several processes do not mix."""
    with Path(folder, f"{name}.log").open("a") as file:
        file.write(f"{text}\n")


def stay(root: str, points: list[str], whos: list[str]) -> None:
    """Stay at work until the family is struck, if it is to be struck there; not for long."""
    deadline = time.monotonic() + HOLDS
    while time.monotonic() < deadline:
        point, who = tree_strikes.order_of(root)
        if point not in points or who not in whos:
            return
        time.sleep(0.01)


@tool("struck.count", idempotent=True)
def count(folder: str, root: str, number: int, *, key: str) -> int:
    """Leave a line for the number."""
    trace(folder, "counts", f"{number} {key}")
    tree_strikes.pass_by("child, works", root)
    if number % 4 == 3:
        stay(root, list(tree_strikes.PARENTS), ["child", "both"])
    return number * number


def counted(state: Number, ctx: Context) -> dict[str, Any]:
    args = {"folder": state.folder, "root": state.root, "number": state.number}
    return {"square": ctx.effect(count, args).result}


@counter.node(then=END)
def work(state: Number, ctx: Context) -> dict[str, Any]:
    if state.number % 5 == 0:
        ctx.hand_off("struck-heir")
        return {}
    return counted(state, ctx)


heir.node("work", then=END)(counted)


def arm(root: str, point: str, who: str) -> None:
    if point:
        (tree_strikes.ARMS / f"{root}.new").write_text(f"{point}|{who}")
        (tree_strikes.ARMS / f"{root}.new").rename(tree_strikes.ARMS / root)


@lead.node(then=["fan_out", "beside"])
def begin(state: Numbers, ctx: Context) -> dict[str, Any]:
    ctx.activity(arm, str(ctx.thread_id), state.point, state.who)
    return {}


@lead.node(then=END)
def fan_out(state: Numbers, ctx: Context) -> dict[str, Any]:
    inputs = [
        {"folder": state.folder, "root": str(ctx.thread_id), "number": number}
        for number in range(state.fan_out)
    ]
    if state.at_most:
        joined = ctx.map("struck-counter", inputs, at_most=state.at_most)
        return {"total": sum(result["square"] for result in joined.results)}
    children = [ctx.spawn("struck-counter", each) for each in inputs]
    early = ctx.join(children, need=FIRST, failures="list")
    joined = ctx.join(children)
    return {
        "early": len(early.results),
        "total": sum(result["square"] for result in joined.results),
    }


@lead.node(then=END)
def beside(state: Numbers, ctx: Context) -> dict[str, Any]:
    """A parent at work while its children are."""
    points = [point for point in tree_strikes.CHILDREN if point != "wake, written"]
    ctx.activity(stay, str(ctx.thread_id), points, ["parent", "both"])
    return {}
