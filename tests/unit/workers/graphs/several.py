"""An agent that does three things beside each other, each behind a gate of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from workers.authoring.errors import Rejected
from workers.authoring.graph import END, Append, Gate, Graph, State, Tool, tool
from workers.node.context import Context


class Parcel(State):
    done: Annotated[list[str], Append()] = []
    looked: Annotated[list[str], Append()] = []


graph = Graph("parcels", Parcel)
sent: list[str] = []
meanwhile: list[Callable[[], None]] = []  # called while the first parcel is being sent


@tool("parcel.send", idempotent=True)
def send(to: str, *, key: str) -> str:
    """Send a parcel."""
    sent.append(to)
    if to == "a" and meanwhile:
        meanwhile.pop()()
    return to


def look(what: str) -> str:
    return what


def branch(name: str) -> None:
    def call(state: Parcel, ctx: Context) -> dict[str, Any]:
        seen = ctx.activity(look, name)
        try:
            ctx.effect(send, {"to": name}, gate=Gate(f"Send {name}?", risk="low"))
        except Rejected as no:
            return {"done": [f"not {name}: {no.comment}"], "looked": [seen]}
        return {"done": [name], "looked": [seen]}

    call.__name__ = f"send_{name}"
    graph.node(then=END)(call)


@graph.node(then=("send_a", "send_b", "send_c", "free"))
def begin(state: Parcel, ctx: Context) -> dict[str, Any]:
    return {}


for letter in "abc":
    branch(letter)


@graph.node(then=END)
def free(state: Parcel, ctx: Context) -> dict[str, Any]:
    return {"looked": [ctx.activity(look, "free")]}


TOOLS: dict[str, Tool] = {send.name: send}
