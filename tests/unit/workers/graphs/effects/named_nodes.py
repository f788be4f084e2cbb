"""Three nodes, two of them at once; what they did is listed."""

from __future__ import annotations

from typing import Annotated, Any

from workers.authoring.graph import END, Append, Gate, Graph, State, tool
from workers.node.context import Context

worked: list[str] = []


class Report(State):
    goal: str = "tea"
    notes: Annotated[list[str], Append()] = []
    would: Annotated[list[str], Append()] = []


@tool("publish", idempotent=True)
def publish(text: str, *, key: str) -> str:
    worked.append(f"published {text}")
    return text


graph = Graph("named-nodes", Report)
TOOLS = {"publish": publish}


@graph.node(then=("check", "send"))
def draft(state: Report, ctx: Context) -> dict[str, Any]:
    worked.append("draft")
    return {"notes": ["drafted"]}


@graph.node(then=END)
def check(state: Report, ctx: Context) -> dict[str, Any]:
    worked.append("check")
    return {"notes": ["checked"]}


@graph.node(then=END)
def send(state: Report, ctx: Context) -> dict[str, Any]:
    worked.append("send")
    args = {"text": state.goal}
    would = [ctx.would_ask(publish, args), ctx.would_ask(publish, args, gate=Gate("Sure?"))]
    ctx.effect(publish, args)
    return {"notes": ["sent"], "would": would}
