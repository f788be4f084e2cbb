"""An agent that people talk with: it waits for an utterance and repeats it."""

from __future__ import annotations

from typing import Annotated, Any

from gatepost import END, Append, Context, Graph, State


class Talk(State):
    messages: Annotated[list[dict[str, str]], Append()] = []


graph = Graph("voiced", Talk)


def further(state: Talk) -> str:
    return END if state.messages[-1]["content"] == "You said bye" else "listen"


@graph.node(then=further, ways=("listen", END))
def listen(state: Talk, ctx: Context) -> dict[str, Any]:
    """Wait for the next utterance and say what was heard."""
    heard = ctx.wait("utterance", schema={"type": "object", "required": ["number", "text"]})
    assert heard is not None
    text = heard.value["text"]
    return {
        "messages": [
            {"role": "user", "content": text},
            {"role": "assistant", "content": f"You said {text}"},
        ]
    }
