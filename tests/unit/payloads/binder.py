"""An agent whose large values lie in files: each step writes a text and keeps a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from workers.authoring.graph import END, Append, Gate, Graph, State, Sum, tool
from workers.node.context import Context

ROUNDS = 3


class Folder(State):
    text: str = ""
    sheets: Annotated[list[dict[str, Any]], Append()] = []
    done: Annotated[int, Sum()] = 0
    out: str = ""
    bound: str = ""


graph = Graph("binder", Folder, payloads="file")


def take_back(args: dict[str, Any], result: Any, *, key: str) -> dict[str, Any]:
    """Take the bound book away."""
    Path(args["out"], "bound.txt").unlink(missing_ok=True)
    return {}


@tool("book.bind", undo=take_back, idempotent=True)
def bind(out: str, *, key: str) -> dict[str, Any]:
    """Write down that it is bound, once per call."""
    with Path(out, "bound.txt").open("a") as file:
        file.write(f"{key}\n")
    return {"bound": "yes"}


def more(state: Folder) -> str:
    return "write" if state.done < ROUNDS else "finish"


@graph.node(then=more, ways=("write", "finish"))
def write(state: Folder, ctx: Context) -> dict[str, Any]:
    def draw(number: int) -> dict[str, Any]:
        with Path(state.out, "calls.txt").open("a") as file:
            file.write(f"{number}\n")
        return ctx.artifact(f"sheet {number}.txt", f"sheet {number}\n".encode() * 500, "text/plain")

    sheet = ctx.activity(draw, state.done)
    return {"text": f"chapter {state.done} " * 500, "sheets": [sheet], "done": 1}


@graph.node(then=END, gate=True)
def finish(state: Folder, ctx: Context) -> dict[str, Any]:
    done = ctx.effect(bind, {"out": state.out}, gate=Gate("Bind it?"))
    return {"bound": done.result["bound"], "text": "bound " * 500}
