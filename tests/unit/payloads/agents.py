"""An agent with large values, on each store."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any

from checkpoints.durabilities import HOT
from workers.authoring.errors import Rejected
from workers.authoring.graph import END, Append, Gate, Graph, Merge, State, Sum, Tool, Way, tool
from workers.node.context import Context

# Above the limit of each store.
LARGE = 20_000


class Book(State):
    text: str = ""
    pages: Annotated[list[str], Append()] = []
    index: Annotated[dict[str, Any], Merge()] = {}
    done: Annotated[int, Sum()] = 0
    rounds: int = 4
    folder: str = ""
    printed: str = ""


calls: list[str] = []


def text_of(number: int) -> str:
    """Two texts in turn, so that each is written again."""
    return ("even " if number % 2 == 0 else "odd ") * (LARGE // 4)


def look_up(number: int) -> dict[str, Any]:
    calls.append("look_up")
    return {"number": number}


def take_back(args: dict[str, Any], result: Any, *, key: str) -> dict[str, Any]:
    calls.append("take_back")
    Path(args["folder"], "printed.txt").unlink(missing_ok=True)
    return {"removed": True}


@tool("book.print", undo=take_back, idempotent=True)
def print_book(folder: str, pages: int, *, key: str) -> dict[str, Any]:
    """Write the book into the folder."""
    calls.append("print_book")
    Path(folder, "printed.txt").write_text(f"{pages} {key}")
    return {"pages": pages}


graph = Graph("books", Book)


def again(state: Book) -> Way:
    return Way("write" if state.done < state.rounds else "publish", "so many rounds")


@graph.node(then=again, ways=("write", "publish"))
def write(state: Book, ctx: Context) -> dict[str, Any]:
    activity = ctx.activity(look_up, state.done)
    return {
        "text": text_of(activity["number"]),
        "pages": [f"page {state.done}"],
        "index": {f"page {state.done}": state.done},
        "done": 1,
    }


@graph.node(then=END, gate=True)
def publish(state: Book, ctx: Context) -> dict[str, Any]:
    try:
        done = ctx.effect(
            print_book,
            {"folder": state.folder, "pages": len(state.pages)},
            gate=Gate("Print the book?", risk="high"),
        )
    except Rejected as no:
        return {"printed": f"no: {no.comment}"}
    return {"printed": f"{done.result['pages']} pages"}


TOOLS: dict[str, Tool] = {print_book.name: print_book}


def module_of(kind: Any) -> Any:
    """What a bench takes for a module: the same agent on this store."""
    chosen: dict[str, Any] = {"durability": HOT} if kind == HOT else {"payloads": kind}
    made = replace(graph, name=f"books-{kind}", **chosen)
    return SimpleNamespace(__name__=f"books.{kind}", __file__=__file__, graph=made, TOOLS=TOOLS)
