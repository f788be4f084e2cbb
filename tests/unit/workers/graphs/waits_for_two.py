"""An agent of which two nodes wait at the same time, for signals of different forms."""

from __future__ import annotations

from typing import Annotated, Any

from workers.authoring.graph import END, Append, Graph, State
from workers.node.context import Context


class Delivery(State):
    """A delivery that is closed when it is paid and has arrived."""

    notes: Annotated[list[str], Append()] = []


graph = Graph("waits-for-two", Delivery)
AMOUNT = {
    "type": "object",
    "required": ["amount"],
    "properties": {"amount": {"type": "integer"}, "by": {"type": "string"}},
}


@graph.node(then=["pay", "arrive"])
def begin(delivery: Delivery, ctx: Context) -> dict[str, Any]:
    return {}


@graph.node(then=END)
def pay(delivery: Delivery, ctx: Context) -> dict[str, Any]:
    """Wait for the payment."""
    signal = ctx.wait("payment.settled", schema=AMOUNT)
    return {"notes": [f"paid {signal and signal.value}"]}


@graph.node(then=END)
def arrive(delivery: Delivery, ctx: Context) -> dict[str, Any]:
    """Wait for the goods."""
    signal = ctx.wait("goods.arrived", schema={"type": "integer"})
    return {"notes": [f"arrived {signal and signal.value}"]}
