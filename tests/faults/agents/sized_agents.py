"""A hot agent of small steps with values of three sizes: buffered, in the database, in a file."""

from __future__ import annotations

import os
from typing import Annotated, Any

from workers.authoring.graph import END, Append, Graph, State
from workers.node.context import Context

MIDDLE, LARGE = 60_000, 400_000


class Sized(State):
    folder: str = ""
    until: int = 1000
    huge_at: int = -1
    n: int = 0
    log: Annotated[list[int], Append()] = []
    middle: str = ""
    large: str = ""


graph = Graph("sized", Sized, durability="hot", queue=os.environ.get("HAZARD_QUEUE", "sized"))


def text_of(n: int, size: int) -> str:
    """A text of this size that differs with the step."""
    return f"{n} ".ljust(size, "x")


def update_of(n: int) -> dict[str, Any]:
    """The update of step `n`: mostly small, at times a value of another size."""
    update: dict[str, Any] = {"n": n + 1, "log": [n]}
    if n % 50 == 20:
        update["middle"] = text_of(n, MIDDLE)
    if n % 100 == 40:
        update["large"] = text_of(n, LARGE)
    return update


def expected(until: int) -> dict[str, Any]:
    """The state after so many steps, by hand."""
    state: dict[str, Any] = {"until": until, "huge_at": -1, "log": [], "middle": "", "large": ""}
    for n in range(until):
        update = update_of(n)
        state["log"] += update.pop("log")
        state |= update
    return state


@graph.node(then=lambda state: "step" if state.n < state.until else END, ways=("step", END))
def step(state: Sized, ctx: Context) -> dict[str, Any]:
    """One step."""
    if state.n == state.huge_at:
        return {"large": "x" * 9_000_000}
    return update_of(state.n)
