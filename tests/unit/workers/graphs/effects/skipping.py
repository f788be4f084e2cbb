"""An agent whose two branches meet; one of them fails as long as the world wants it."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from workers.authoring.graph import END, Append, Gate, Graph, Retry, State, Way, tool
from workers.node.context import Context


class World:
    """What the nodes met and did."""

    broken: ClassVar[bool] = True
    calls: ClassVar[list[str]] = []


class Branches(State):
    """Words of the branches."""

    words: Annotated[list[str], Append()] = []


@tool("post", idempotent=True)
def post(text: str, *, key: str) -> str:
    """Post a text."""
    World.calls.append(f"post {text}")
    return text


graph = Graph("skipping", Branches, retry=Retry(attempts=1))


@graph.node(then=["translate", "count"])
def collect(state: Branches, ctx: Context) -> dict[str, Any]:
    """Begin."""
    return {"words": ["collected"]}


@graph.node(then="report")
def translate(state: Branches, ctx: Context) -> dict[str, Any]:
    """Post, then fail."""
    ctx.effect(post, {"text": "begun"})
    if World.broken:
        raise RuntimeError("the service is gone")
    return {"words": ["translated"]}


@graph.node(then="report")
def count(state: Branches, ctx: Context) -> dict[str, Any]:
    """The sound branch."""
    World.calls.append("count")
    return {"words": ["counted"]}


def on(state: Branches) -> Way:
    """The way on depends on what there is."""
    return Way(END if "translated" in state.words else "ask")


@graph.node(then=on, ways=("ask", END))
def report(state: Branches, ctx: Context) -> dict[str, Any]:
    """The join of both."""
    return {"words": ["reported"]}


@graph.node(then=END)
def ask(state: Branches, ctx: Context) -> dict[str, Any]:
    """Wait for a person."""
    ctx.effect(post, {"text": "asked"}, gate=Gate("Post it?", "Without the translation."))
    return {"words": ["asked"]}


TOOLS = {"post": post}
