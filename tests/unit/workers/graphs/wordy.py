"""An agent that says, does or asks as much in one step as it is told."""

from __future__ import annotations

from typing import Any

from workers.authoring.graph import END, Gate, Graph, State, Tool, tool
from workers.node.context import Context


class Wordy(State):
    what: str = ""
    amount: int = 0
    text: str = ""
    out: str = ""


def look(number: int) -> int:
    return number


@tool("order", idempotent=True)
def order(lines: list[dict[str, Any]], *, key: str) -> int:
    """Order these lines."""
    return len(lines)


graph = Graph("wordy", Wordy)


@graph.node(then=END)
def begin(state: Wordy, ctx: Context) -> dict[str, Any]:
    numbers = range(state.amount)
    if state.what == "thoughts":
        for number in numbers:
            ctx.think(f"thought {number}")
    elif state.what == "files":
        for number in numbers:
            ctx.artifact(f"{number}.txt", b"the same bytes", "text/plain")
    elif state.what == "activities":
        for number in numbers:
            ctx.activity(look, number)
    elif state.what == "state":
        return {"text": "x" * state.amount, "out": "done"}
    elif state.what == "lines":
        lines = [{"invoice": f"RE {n}", "amount": "12.50", "to": "Stahlbau"} for n in numbers]
        done = ctx.effect(order, {"lines": lines}, gate=Gate("Order them?"))
        return {"out": f"{done.result} ordered"}
    return {"out": "done"}


TOOLS: dict[str, Tool] = {order.name: order}
