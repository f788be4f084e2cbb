"""An agent that remembers, recalls and forgets as its input says."""

from __future__ import annotations

from typing import Annotated, Any

from gatepost import END, Append, Context, Encrypted, Graph, MemoryRef, State


class Notes(State):
    """What it is told to do, and what came of it."""

    text: str = ""
    scope: str = "thread"
    question: str = ""
    forgets: bool = False
    outside: bool = False
    ref: MemoryRef | None = None
    refs: Annotated[list[MemoryRef], Append()] = []
    answers: list[str] = []
    gone: list[str] = []
    hidden: Annotated[str, Encrypted(readers=("admin",))] = ""


graph = Graph("remembering", Notes, version=1)
calls: list[str] = []


def look(what: str) -> str:
    """A call after the memory, at which a test stops."""
    calls.append(what)
    return what


@graph.node(then="know")
def learn(state: Notes, ctx: Context) -> dict[str, Any]:
    """Remember the text, if there is one; with an encrypted channel, that."""
    text = state.text or state.hidden
    if not text:
        return {}
    scope: Any = state.scope
    memories = ctx.remember(text, scope=scope, outside=state.outside, metadata={"of": "a test"})
    ctx.activity(look, "learnt")
    return {"ref": memories.ref, "refs": [memories.ref]}


@graph.node(then="tidy")
def know(state: Notes, ctx: Context) -> dict[str, Any]:
    """Recall what the question asks for."""
    memories = ctx.recall(state.question, k=3)
    ctx.activity(look, "known")
    return {
        "answers": [f"{one}{' (outside)' if one.outside else ''}" for one in memories],
        "gone": [one.gone for one in memories],
    }


@graph.node(then=END)
def tidy(state: Notes, ctx: Context) -> dict[str, Any]:
    """Forget it again, if it is told to."""
    if state.forgets and state.ref:
        ctx.forget(state.ref, reason="The task is over.")
        return {"gone": [ctx.memory(state.ref).gone]}
    return {}
