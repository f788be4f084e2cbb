"""An agent whose state refers to a conversation that the provider of its model holds."""

from __future__ import annotations

from typing import Annotated, Any

from workers.authoring.graph import END, Append, Graph, State, Way
from workers.authoring.language_models import ConversationId
from workers.node.context import Context


class Chat(State):
    ask: list[str] = ["Who was Ada?", "And Charles?"]
    messages: Annotated[list[dict[str, Any]], Append()] = []
    talk: Annotated[str, ConversationId("openai-responses")] = ""
    if_gone: str = "restart"


graph = Graph("holding", Chat)


def until_asked(state: Chat) -> Way:
    left = len(state.ask) - len(state.messages) // 2
    return Way("reply" if left else END, f"{left} questions left")


@graph.node(then=until_asked, ways=("reply", END))
def reply(state: Chat, ctx: Context) -> dict[str, Any]:
    question = {"role": "user", "content": state.ask[len(state.messages) // 2]}
    answer = ctx.model(
        messages=[*state.messages, question],
        system="You are brief.",
        conversation=state.talk,
        if_gone=state.if_gone,  # type: ignore[arg-type]
    )
    return {"messages": [question, answer.message], "talk": answer.conversation}
