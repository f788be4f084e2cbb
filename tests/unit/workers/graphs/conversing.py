"""An agent that converses with the model of the installation, as its state says."""

from __future__ import annotations

from typing import Annotated, Any

from workers.authoring.graph import END, Append, Graph, Retry, State, Tool, tool
from workers.node.context import Context


class Conversation(State):
    query: dict[str, Any] = {"messages": [{"role": "user", "content": "How warm is it?"}]}
    answers: Annotated[list[dict[str, Any]], Append()] = []


graph = Graph("conversing", Conversation, retry=Retry(attempts=3, first=0.01))


@tool("weather.read")
def read_weather(city: str, days: int = 1, *, key: str) -> str:
    """Read the weather of a city."""
    return f"{city} {days}"


@graph.node(then=END)
def converse(state: Conversation, ctx: Context) -> dict[str, Any]:
    answer = ctx.model(tools=[read_weather], **dict(state.query))
    return {"answers": [answer.to_json()]}


TOOLS: dict[str, Tool] = {read_weather.name: read_weather}
