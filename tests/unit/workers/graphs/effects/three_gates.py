"""A node that reserves without a gate, then pays and tells under gates of their own."""

from __future__ import annotations

from typing import Any

from workers.authoring.graph import END, Gate, Graph, State, Tool, tool
from workers.node.context import Context

made: list[str] = []
graph = Graph("three-gates", State)


def _free(args: Any, result: Any, *, key: str) -> str:
    return "freed"


@tool("bank.reserve", undo=_free, idempotent=True)
def reserve(*, key: str) -> str:
    """Reserve a sum."""
    made.append("reserve")
    return "reserved"


@tool("bank.pay", idempotent=True)
def pay(*, key: str) -> str:
    """Pay it."""
    made.append("pay")
    return "paid"


@tool("mail.tell", idempotent=True)
def tell(*, key: str) -> str:
    """Tell the payee."""
    made.append("tell")
    return "told"


TOOLS: dict[str, Tool] = {one.name: one for one in (reserve, pay, tell)}


@graph.node(then=END)
def settle(state: State, ctx: Context) -> dict[str, Any]:
    """Three effects of one node."""
    ctx.effect(reserve, {})
    ctx.effect(pay, {}, gate=Gate("Pay?", "It is due.", risk="low"))
    ctx.effect(tell, {}, gate=Gate("Tell?", "They wait.", risk="low"))
    return {}
