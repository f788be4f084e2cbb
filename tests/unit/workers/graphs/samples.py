"""Agents for the tests of the working floor: small, real graphs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from workers.authoring.errors import Rejected
from workers.authoring.graph import END, Append, Gate, Graph, Merge, State, Sum, Tool, Way, tool
from workers.node.context import Context


class Order(State):
    goal: str = "tea"
    rounds: int = 3
    done: Annotated[int, Sum()] = 0
    notes: Annotated[list[str], Append()] = []
    facts: Annotated[dict[str, Any], Merge()] = {}
    folder: str = ""
    receipt: str = ""
    outcome: str = ""


class Counter:
    """Counts calls by name, outside of the engine's knowledge."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def __call__(self, name: str) -> None:
        self.calls.append(name)

    def count(self, name: str) -> int:
        return self.calls.count(name)


counter = Counter()


def look_up(goal: str) -> dict[str, Any]:
    counter("look_up")
    return {"goal": goal, "price": "3.50"}


def take_back(args: dict[str, Any], result: Any, *, key: str) -> dict[str, Any]:
    counter("take_back")
    Path(args["folder"], "order.txt").unlink(missing_ok=True)
    return {"removed": True}


@tool("order.place", undo=take_back, idempotent=True)
def place(folder: str, goal: str, *, key: str) -> dict[str, Any]:
    """Write the order into the folder."""
    counter("place")
    Path(folder, "order.txt").write_text(f"{goal} {key}")
    return {"receipt": f"R-{goal}", "key": key}


graph = Graph("orders", Order, label="Orders", description="Buys what it is told to buy.")


def again(state: Order) -> Way:
    if state.done < state.rounds:
        return Way("gather", f"{state.done} of {state.rounds} rounds done")
    return Way("buy", "all rounds are done")


@graph.node(then=again, ways=("gather", "buy"))
def gather(state: Order, ctx: Context) -> dict[str, Any]:
    counter("gather")
    activity = ctx.activity(look_up, state.goal)
    ctx.think(f"Round {state.done + 1}: {activity['price']}")
    return {
        "done": 1,
        "notes": [f"{activity['goal']} {state.done + 1}"],
        "facts": {"last": activity},
    }


@graph.node(then=END, gate=True)
def buy(state: Order, ctx: Context) -> dict[str, Any]:
    counter("buy")
    ctx.think("The price is fine.")
    try:
        done = ctx.effect(
            place,
            {"folder": state.folder, "goal": state.goal},
            gate=Gate("Place the order?", risk="high"),
        )
    except Rejected as no:
        return {"outcome": f"rejected: {no.comment}"}
    return {"receipt": done.result["receipt"], "outcome": f"bought, {done.comment}"}


TOOLS: dict[str, Tool] = {place.name: place}
