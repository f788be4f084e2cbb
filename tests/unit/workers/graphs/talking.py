"""An agent that listens while it works: two nodes in turn, a gate where it is told to ask."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import model_validator

from workers.authoring.graph import END, Append, Gate, Graph, State, Sum, Tool, Way, tool
from workers.node.context import Context
from workers.step.guard import unguarded

from .samples import counter


class Message(State):
    text: str
    loud: bool = False


class Talk(State):
    rounds: int = 2
    ask_in: int = 0
    fail_in: int = 0
    messages: Annotated[list[Message], Append()] = []
    heard: Annotated[list[str], Append()] = []
    done: Annotated[int, Sum()] = 0

    @model_validator(mode="after")
    def no_swearing(self) -> Talk:
        if any(m.text == "damn" for m in self.messages):
            raise ValueError("no swearing")
        return self


class During:
    """What happens elsewhere while a node works: set by a test, called once in it."""

    calls: dict[str, Any] = {}

    def __call__(self, name: str) -> None:
        counter(name)
        if then := self.calls.pop(name, None):
            with unguarded():  # it is another process that does it
                then()


during = During()


def look(number: int) -> int:
    counter("look")
    return number


@tool("talk.say", idempotent=True)
def say(text: str, *, key: str) -> str:
    counter("say")
    return text


graph = Graph("talking", Talk, message_channel="messages")


def heard(state: Talk, by: str) -> dict[str, Any]:
    texts = ", ".join(m.text.upper() if m.loud else m.text for m in state.messages)
    return {"heard": [f"{by}: {texts}"]}


@graph.node(then="second")
def first(state: Talk, ctx: Context) -> dict[str, Any]:
    ctx.think("I listen")
    during("first")
    return heard(state, "first")


def again(state: Talk) -> Way:
    return Way("first" if state.done < state.rounds else END)


@graph.node(then=again, ways=("first", END), gate=True)
def second(state: Talk, ctx: Context) -> dict[str, Any]:
    number = state.done + 1
    if state.ask_in == number:
        ctx.effect(say, {"text": f"{len(state.messages)} heard"}, gate=Gate("Say it?"))
    if state.fail_in == number:
        during("failing")
        if counter.count("failing") == 1:
            raise RuntimeError("not today")
    ctx.activity(look, number)
    during("second")
    return heard(state, "second") | {"done": 1}


TOOLS: dict[str, Tool] = {say.name: say}
