"""An agent that waits for a signal, for a time, of a form, beside another node."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Any

from workers.authoring.graph import END, Append, Graph, State
from workers.node.context import Context


class Order(State):
    """An order that is shipped when its payment has come."""

    seconds: float | None = None
    form: dict[str, Any] | None = None
    beside: str = ""
    notes: Annotated[list[str], Append()] = []


graph = Graph("waits", Order)


def chosen(order: Order) -> list[str]:
    return ["pay", "beside"] if order.beside else ["pay"]


@graph.node(then=chosen, ways=("pay", "beside"))
def begin(order: Order, ctx: Context) -> dict[str, Any]:
    return {}


@graph.node(then="ship")
def pay(order: Order, ctx: Context) -> dict[str, Any]:
    """Wait until the payment is settled, or the time is over."""
    within = None if order.seconds is None else timedelta(seconds=order.seconds)
    signal = ctx.wait("payment.settled", within=within, schema=order.form)
    note = "too late" if signal is None else f"paid {signal.value!r} by {signal.by}"
    return {"notes": [note]}


@graph.node(then="ship")
def beside(order: Order, ctx: Context) -> dict[str, Any]:
    """Ask somebody, sleep, wait for the same, or do nothing."""
    if order.beside == "wait":
        return pay(order, ctx)
    if order.beside == "ask":
        return {"notes": [f"answered {ctx.ask('Who is it for?').value}"]}
    if order.beside == "sleep":
        ctx.sleep(3600)
        return {"notes": ["slept"]}
    return {}


@graph.node(then=END)
def ship(order: Order, ctx: Context) -> dict[str, Any]:
    """Look for a second signal of the same name."""
    signal = ctx.wait("payment.settled", within=0)
    return {"notes": ["nothing more" if signal is None else f"more {signal.value!r}"]}
