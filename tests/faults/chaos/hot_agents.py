"""A hot agent for the chaos: small steps that wait in the hot store, counts outside, one gate.

Each count is a line in the file of the trees' counters; the verdict knows them (outcomes/hot.py).
"""

from __future__ import annotations

import time
from typing import Annotated, Any

from gatepost import END, Append, Context, Gate, Graph, State

from .tree_agents import count

SECONDS = 0.002  # of a step, so that threads are struck in their middle
TEXT = "x" * 600  # with what a step is made of, about a kilobyte


class Steps(State):
    task: int
    until: int
    count_every: int
    asks_at: int
    n: int = 0
    text: str = ""
    log: Annotated[list[int], Append()] = []
    sum: int = 0


graph = Graph("chaos-hot", Steps, durability="hot")


def after_step(state: Steps) -> str:
    """Count outside every so many steps, which drains what waits; else the next step."""
    return "show" if state.n % state.count_every == 0 else "step"


@graph.node(then=after_step, ways=("step", "show"))
def step(state: Steps, ctx: Context) -> dict[str, Any]:
    time.sleep(SECONDS)
    return {"n": state.n + 1, "text": f"{state.n} {TEXT}", "log": [state.n]}


@graph.node(then=lambda state: "step" if state.n < state.until else END, ways=("step", END))
def show(state: Steps, ctx: Context) -> dict[str, Any]:
    gate = Gate("Count this?") if state.n == state.asks_at else None
    args = {"task": state.task, "number": state.n}
    return {"sum": state.sum + ctx.effect(count, args, gate=gate).result}
