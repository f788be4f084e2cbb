"""A model and its tools in turns, for a worker; the model goes by what it is shown.

Tools leave one line per call in a file of the folder that the goal names, and stay where a file
`<name>.hold` lies.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

from gatepost import Conversation, Gate, Reply, Request, ToolCall, react, tool


class InFolder(Conversation):
    folder: str = ""


def trace(folder: str, name: str, text: str = "") -> str:
    with Path(folder, f"{name}.log").open("a") as file:
        file.write(f"{os.getpid()} {text}\n")
    while Path(folder, f"{name}.hold").exists():
        time.sleep(0.01)
    return f"did {name}"


def look(folder: str, name: str) -> str:
    """Look something up."""
    return trace(folder, name)


@tool("loop.deliver", idempotent=True)
def deliver(folder: str, name: str, *, key: str) -> str:
    """Deliver something."""
    return trace(folder, name, key)


def answer(request: Request) -> Reply:
    """First five calls in one answer, then one more, then the results in a sentence."""
    folder = request.chat[0]["content"]
    answers = [m for m in request.chat if m["role"] == "assistant"]
    trace(folder, f"model-{len(answers)}")
    wanted = [
        [
            *(("look", "a"), ("look", "b")),
            *(("loop.deliver", "x"), ("loop.deliver", "y"), ("loop.deliver", "z")),
        ],
        [("look", "c")],
    ]
    if len(answers) == 2:
        texts = [m["content"] for m in request.chat if m["role"] == "tool"]
        return Reply(" | ".join(texts), model="by-rule", tokens_in=5, tokens_out=5, cost="0.01")
    calls = tuple(
        ToolCall(f"call-{n}", name, {"folder": folder, "name": what})
        for n, (name, what) in enumerate(wanted[len(answers)])
    )
    return Reply("", model="by-rule", tokens_in=5, tokens_out=5, cost="0.01", tool_calls=calls)


graph = react(
    "loop",
    model=answer,
    tools=[look, deliver],
    gates={"loop.deliver": Gate("Deliver it?", risk="low")},
    state=InFolder,
    queue="reacts",
)
