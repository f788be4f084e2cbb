"""A chat that keeps nothing and answers without a model: what a turn costs beside what it does."""

from __future__ import annotations

from typing import Annotated, Any

from gatepost import END, Append, Context, Graph, State


class Chat(State):
    messages: Annotated[list[dict[str, Any]], Append()] = []


graph = Graph("bench-chat", Chat, message_channel="messages", durability="ephemeral", ttl=600)


@graph.node(then=END)
def answer(state: Chat, ctx: Context) -> dict[str, Any]:
    """Say how long the message was."""
    length = len(str(state.messages[-1]["content"])) if state.messages else 0
    return {"messages": [{"role": "assistant", "content": f"{length} characters"}]}
