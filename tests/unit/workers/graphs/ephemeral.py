"""A chat that keeps nothing: it answers each message, and does on demand what it may not."""

from __future__ import annotations

from typing import Annotated, Any

from gatepost import END, Append, Context, Graph, Reply, Retry, RetryLater, State, tool
from workers.authoring.language_models import Request

calls: list[str] = []
busy: list[float] = []  # so many seconds each of the next calls of the model asks to wait


class Chat(State):
    messages: Annotated[list[dict[str, Any]], Append()] = []
    answers: int = 0


def model(request: Request) -> Reply:
    """Answer at a known price, unless it is busy."""
    calls.append(request.text)
    if busy and (seconds := busy.pop(0)):
        raise RetryLater(seconds, "Too many requests")
    answer = f"You said {request.text}"
    return Reply(answer, model="echo", tokens_in=3, tokens_out=7, cost="0.01")


graph = Graph(
    "chat",
    Chat,
    message_channel="messages",
    durability="ephemeral",
    ttl=60,
    model=model,
    retry=Retry(first=0.01, most=0.02),
)


def post_note(text: str, *, key: str) -> str:
    """Post a note outside."""
    raise AssertionError("never called")


def look_up(text: str) -> str:
    """Look something up; policies may hold it."""
    calls.append(f"look up {text}")
    return text.upper()


def after(state: Chat) -> str:
    """Rest for a step after a long answer."""
    return "rest" if "long" in str(state.messages[-1]["content"]) else END


@graph.node(then=after, ways=("rest", END))
def answer(state: Chat, ctx: Context) -> dict[str, Any]:
    """Answer the newest message."""
    text = str(state.messages[-1]["content"]) if state.messages else "nothing"
    match text.partition(" ")[0]:
        case "fail":
            raise ValueError("on demand")
        case "sleep":
            ctx.sleep(3600)
        case "effect":
            # Not of the module: a tool there is refused when the agent is registered.
            ctx.effect(tool("post-note")(post_note), {"text": text})
        case "wait":
            ctx.wait("news")
        case "look":
            ctx.activity(look_up, text)
        case "file":
            ctx.artifact("a.txt", b"x", "text/plain")
        case "twice":
            ctx.model(text)
        case "many":
            for _ in range(5):
                ctx.model(text)
    reply = ctx.model(text)
    return {"messages": [{"role": "assistant", "content": reply}], "answers": state.answers + 1}


@graph.node(then=END)
def rest(state: Chat, ctx: Context) -> dict[str, Any]:
    """Do nothing."""
    return {}
