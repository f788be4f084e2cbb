"""A chat that keeps nothing: each answer is a call that leaves a line and may be held."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Annotated, Any

from workers.authoring.graph import END, Append, Graph, State
from workers.node.context import Context


class Talk(State):
    folder: str = ""
    messages: Annotated[list[dict[str, Any]], Append()] = []


graph = Graph("chat", Talk, message_channel="messages", durability="ephemeral", ttl=600)


def reply(folder: str, text: str) -> str:
    """Leave a line, stay while `TEXT.hold` lies there, and answer."""
    with Path(folder, f"{text}.log").open("a") as file:
        file.write(f"{os.getpid()} \n")
    while Path(folder, f"{text}.hold").exists():
        time.sleep(0.02)
    return f"You said {text}"


@graph.node(then=END)
def answer(state: Talk, ctx: Context) -> dict[str, Any]:
    """Answer the newest message."""
    text = str(state.messages[-1]["content"])
    text = ctx.activity(reply, state.folder, text)
    return {"messages": [{"role": "assistant", "content": text}]}
