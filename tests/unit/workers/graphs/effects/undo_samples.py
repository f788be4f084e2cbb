"""A journey: three bookings that can be undone, a letter that cannot, and what may go wrong."""

from __future__ import annotations

from typing import Annotated, Any

from workers.authoring.graph import END, Append, Gate, Graph, State, Tool, tool
from workers.node.context import Context

# Names whose undo fails so many times; names whose booking does not come to its end.
fails: dict[str, int] = {}
dies: set[str] = set()
refused: set[str] = set()
calls: list[str] = []
keys: dict[str, set[str]] = {}


class WorkerLost(BaseException):
    """The process ends here."""


def forget() -> None:
    """As before the first test."""
    for item in (fails, dies, refused, calls, keys):
        item.clear()


def give_back(args: dict[str, Any], result: Any, *, key: str) -> dict[str, Any]:
    name = args["name"]
    calls.append(f"undo {name}")
    keys.setdefault(name, set()).add(key)
    if fails.get(name):
        fails[name] -= 1
        raise OSError(f"{name} does not answer")
    return {"given back": name}


@tool("book", undo=give_back, idempotent=True)
def book(name: str, *, key: str) -> str:
    calls.append(f"book {name}")
    if name in refused:
        raise ValueError(f"{name} is full")
    if name in dies:
        raise WorkerLost
    return f"booked {name}"


@tool("write", idempotent=True)
def write(name: str, *, key: str) -> str:
    calls.append(f"write {name}")
    return f"wrote to {name}"


class Journey(State):
    plan: list[str]
    ask: bool = False
    done: Annotated[list[str], Append()] = []


graph = Graph("journeys", Journey, on_failure="undo")


@graph.node(then=lambda state: "go" if len(state.done) < len(state.plan) else END, ways=("go", END))
def go(state: Journey, ctx: Context) -> dict[str, Any]:
    """One entry of the plan per step; `a+b` does both in one step, `fail` fails the step."""
    entry = state.plan[len(state.done)]
    for name in entry.split("+"):
        if name == "fail":
            raise ValueError("the card was declined")
        if name == "ask":
            ctx.effect(book, {"name": name}, gate=Gate("Go on?"))
        else:
            ctx.effect(write if name == "letter" else book, {"name": name})
    return {"done": [entry]}


TOOLS: dict[str, Tool] = {book.name: book, write.name: write}
