"""Trees for the chaos: a lead with counters, some of which hand over, and a researcher that does.

Each count is a line in a file that outlives all processes; the verdict knows the right sums
(outcomes/trees.py).
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

from gatepost import END, Context, Graph, State, tool

SECONDS = 0.03  # so that it can be struck in its middle
HEIRS_EVERY = 4


class Number(State):
    task: int
    number: int
    square: int = 0


class Numbers(State):
    task: int
    fan_out: int
    at_most: int | None = None
    total: int = 0


class Notes(State):
    task: int
    finding: int = 0
    total: int = 0


counter, heir = Graph("chaos-counter", Number), Graph("chaos-heir", Number)
lead = Graph("chaos-lead", Numbers)
researcher, writer = Graph("chaos-researcher", Notes), Graph("chaos-writer", Notes)
GRAPHS = (lead, counter, heir, researcher, writer)


@tool("chaos.count", idempotent=True)
def count(task: int, number: int, *, key: str) -> int:
    """Leave a line for the number; its square."""
    line = {"task": task, "number": number, "key": key, "host": os.environ.get("HOST_NAME", "")}
    # What the clock says at the machine's start, the same on all hosts whose clocks are right.
    line["clock"] = time.time() - time.monotonic()
    with Path(os.environ["CHAOS_COUNTS"]).open("a") as file:
        file.write(json.dumps(line) + "\n")
    time.sleep(SECONDS)
    return (task + number) ** 2


def work_on(state: Number, ctx: Context) -> dict[str, Any]:
    args = {"task": state.task, "number": state.number}
    return {"square": ctx.effect(count, args).result}


@counter.node(then=END)
def work(state: Number, ctx: Context) -> dict[str, Any]:
    if state.number % HEIRS_EVERY:
        return work_on(state, ctx)
    ctx.hand_off("chaos-heir")
    return {}


heir.node("work", then=END)(work_on)


@lead.node(then="add_up")
def prepare(state: Numbers, ctx: Context) -> dict[str, Any]:
    return {}


@lead.node(then=END)
def add_up(state: Numbers, ctx: Context) -> dict[str, Any]:
    inputs = [{"task": state.task, "number": number} for number in range(state.fan_out)]
    if state.at_most:
        joined = ctx.map("chaos-counter", inputs, at_most=state.at_most)
    else:
        joined = ctx.join([ctx.spawn("chaos-counter", each) for each in inputs])
    return {"total": sum(result["square"] for result in joined.results)}


@researcher.node(then="pass_on")
def research(state: Notes, ctx: Context) -> dict[str, Any]:
    return {"finding": ctx.effect(count, {"task": state.task, "number": 0}).result}


@researcher.node(then=END)
def pass_on(state: Notes, ctx: Context) -> dict[str, Any]:
    ctx.hand_off("chaos-writer")
    return {}


@writer.node(then=END)
def write(state: Notes, ctx: Context) -> dict[str, Any]:
    more = ctx.effect(count, {"task": state.task, "number": 1}).result
    return {"total": state.finding + more}
