"""An agent that asks the model of the installation, and a model for it."""

from __future__ import annotations

from typing import Any

from workers.authoring.graph import END, Graph, State
from workers.authoring.language_models import Reply, Request
from workers.node.context import Context


class Bare(State):
    said: str = ""


graph = Graph("bare", Bare)


@graph.node(then=END)
def ask(state: Bare, ctx: Context) -> dict[str, Any]:
    return {"said": ctx.model("Say something")}


async def answer(request: Request) -> Reply:
    """What GATEPOST_MODEL names in the tests."""
    return Reply(f"{request.model or 'nobody'} on {request.text}", "set-1", 12, 30, "0.000125")
