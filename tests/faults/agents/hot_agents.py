"""A hot agent of many small steps, and what it has seen outside written down by an effect."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Annotated, Any

from workers.authoring.graph import END, Append, Graph, State, tool
from workers.node.context import Context


class Counted(State):
    folder: str = ""
    until: int = 1000
    publish_every: int = 0
    n: int = 0
    log: Annotated[list[int], Append()] = []


@tool("hot.publish", idempotent=True)
def publish(folder: str, name: str, *, key: str) -> dict[str, Any]:
    """Show outside how far it has come."""
    with Path(folder, f"{name}.log").open("a") as file:
        file.write(f"{os.getpid()} {key}\n")
    return {"shown": name}


TOOLS = {"hot.publish": publish}
graph = Graph("hot", Counted, durability="hot", queue=os.environ.get("HAZARD_QUEUE", "hot"))


def onwards(state: Counted) -> str:
    """On, to a publication in between, and to the end."""
    if state.publish_every and state.n % state.publish_every == 0:
        return "show"
    return "count" if state.n < state.until else END


@graph.node(then=onwards, ways=("count", "show", END))
def count(state: Counted, ctx: Context) -> dict[str, Any]:
    """One small step, with time for a strike."""
    time.sleep(0.001)
    return {"n": state.n + 1, "log": [state.n]}


@graph.node(then=lambda state: "count" if state.n < state.until else END, ways=("count", END))
def show(state: Counted, ctx: Context) -> dict[str, Any]:
    """An effect: all before it is in PostgreSQL by then."""
    ctx.effect(publish, {"folder": state.folder, "name": f"at-{state.n}"})
    return {}
