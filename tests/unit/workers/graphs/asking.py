"""An agent that asks a model twice, then a person; its model is one of the tests'."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from workers.authoring.graph import END, Append, Gate, Graph, State, Tool, tool
from workers.authoring.language_models import Reply, Request
from workers.node.context import Context


class Letter(State):
    goal: str = "thanks"
    table: list[dict[str, Any]] = [{"guest": "Ada", "gift": 2}]
    notes: Annotated[list[str], Append()] = []
    sent: str = ""


class Answering:
    """A model with a script: `then` makes the reply; `requests` keeps what was asked."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.then: Callable[[Request], Any] = plainly

    def __call__(self, request: Request, /) -> Any:
        self.requests.append(request)
        return self.then(request)


def plainly(request: Request) -> Reply:
    words = len(request.text.split())
    return Reply(f"answer to {request.parts[0]}", "tiny-1", words, 3, "0.0125")


answering = Answering()
graph = Graph("letters", Letter, model=answering)


@graph.node(then="send")
def draft(state: Letter, ctx: Context) -> dict[str, Any]:
    first = ctx.model("Summarise", state.table, system="You are brief.")
    second = ctx.model(f"Write a letter: {first}", temperature=0.5, max_tokens=100)
    return {"notes": [first, second]}


@tool("letter.send", idempotent=True)
def post(text: str, *, key: str) -> str:
    """Send it."""
    return f"sent {text}"


@graph.node(then=END, gate=True)
def send(state: Letter, ctx: Context) -> dict[str, Any]:
    shorter = ctx.model("Shorten", state.notes[-1])
    done = ctx.effect(post, {"text": shorter}, gate=Gate("Send it?"))
    return {"sent": done.result}


TOOLS: dict[str, Tool] = {post.name: post}
