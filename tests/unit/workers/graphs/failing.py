"""An agent whose activity, effect and model fail as a script says; with short waits."""

from __future__ import annotations

from typing import Any

from workers.authoring.graph import END, Graph, Retry, State, Tool, tool
from workers.authoring.language_models import Reply, Request
from workers.node.context import Context


class Failing(State):
    found: str = ""
    sent: str = ""
    said: str = ""


class Script:
    """What the next calls lead to: an error is raised, a text is answered; "well" at the end."""

    def __init__(self) -> None:
        self.next: list[Exception | str] = []
        self.calls: list[str] = []

    def __call__(self, name: str) -> str:
        self.calls.append(name)
        answer = self.next.pop(0) if self.next else "well"
        if isinstance(answer, Exception):
            raise answer
        return answer


script = Script()
graph = Graph(
    "failing",
    Failing,
    retry=Retry(attempts=3, first=0.0),
    model=lambda request: model(request),
)


def model(request: Request) -> Reply:
    return Reply(script("model"))


def look_up() -> str:
    return script("look_up")


@tool("send", idempotent=True)
def send(text: str, *, key: str) -> str:
    """Send it."""
    return script("send")


@tool("shout", retry=Retry(attempts=2, first=0.0))
def shout(text: str, *, key: str) -> str:
    """Cannot be repeated."""
    return script("shout")


@graph.node(then="tell")
def look(state: Failing, ctx: Context) -> dict[str, Any]:
    return {"found": ctx.activity(look_up)}


@graph.node(then=END)
def tell(state: Failing, ctx: Context) -> dict[str, Any]:
    sent = ctx.effect(send, {"text": state.found}).result
    ctx.effect(shout, {"text": sent})
    return {"sent": sent, "said": ctx.model("Done?")}


TOOLS: dict[str, Tool] = {send.name: send, shout.name: shout}
