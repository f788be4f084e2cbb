"""An agent that does what its input says, without any gate of its own: policies alone stop it."""

from __future__ import annotations

from typing import Any

from workers.authoring.graph import END, Graph, State, tool
from workers.node.context import Context

done: list[str] = []


class Act(State):
    tool: str = "pay"
    args: dict[str, Any] = {}
    would: str = ""


@tool("pay", idempotent=True)
def pay(
    *,
    total: str | dict[str, str] = "",
    payments: list[dict[str, str]] | None = None,
    key: str,
) -> str:
    """Pay a total, or a list of payments."""
    done.append(f"paid {total or payments}")
    return "paid"


@tool("send_mail", idempotent=True)
def send_mail(*, to: str, key: str) -> str:
    """Send a mail."""
    done.append(f"mailed {to}")
    return "sent"


TOOLS = {pay.name: pay, send_mail.name: send_mail}
graph = Graph("market-payments", Act)


@graph.node(then="publish")
def act(state: Act, ctx: Context) -> dict[str, Any]:
    """Do what the input says; note beforehand whether that would be asked about."""
    would = ctx.would_ask(TOOLS[state.tool], state.args)
    ctx.effect(TOOLS[state.tool], state.args)
    return {"would": would}


@graph.node(then=END)
def publish(state: Act, ctx: Context) -> dict[str, Any]:
    """Note that it worked."""
    done.append("published")
    return {}
