"""Agents that are struck between two save points; beside `own_agents`, for a worker of their own.

What they do is seen in files alone: one line per call. A call, or a node, stays where a file
`<name>.hold` lies until that is gone.
"""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path
from typing import Annotated, Any

from django.db import connection

from workers.authoring.graph import END, Append, Graph, State, Sum, tool
from workers.authoring.language_models import Reply, Request
from workers.node.context import Context, current, cursor, progress

QUEUE = "points"
LONGEST = 60


def trace(folder: str, name: str, text: str = "") -> None:
    """One line per call; short appends of several processes do not mix."""
    with Path(folder, f"{name}.log").open("a") as file:
        file.write(f"{os.getpid()} {text}\n")


def hold(folder: str, name: str) -> None:
    """Stay while the file is there."""
    path = Path(folder, f"{name}.hold")
    deadline = time.monotonic() + LONGEST
    while path.exists() and time.monotonic() < deadline:
        time.sleep(0.01)


# ---- hundred: many short steps ------------------------------------------------------------------


class Count(State):
    folder: str
    upto: int = 100
    at: Annotated[int, Sum()] = 0


hundred = Graph("hundred", Count, queue=QUEUE)


def count(folder: str, number: int) -> int:
    trace(folder, "count", str(number))
    hold(folder, f"in-{number}")
    return number


@hundred.node(then=lambda state: "step" if state.at < state.upto else END, ways=("step", END))
def step(state: Count, ctx: Context) -> dict[str, Any]:
    hold(state.folder, f"before-{state.at + 1}")
    ctx.activity(count, state.folder, state.at + 1)
    return {"at": 1}


# ---- atoms: one action of each kind in one node -------------------------------------------------


class Atoms(State):
    folder: str
    seen: Annotated[list[str], Append()] = []
    said: str = ""


def answer(request: Request) -> Reply:
    """Stands for a model: answers what it is asked, with a line per call."""
    folder, message = request.parts[0], request.parts[1]
    trace(folder, "model", message)
    return Reply(f"heard {message}", "still-1", tokens_in=7, tokens_out=5, cost="0.002")


atoms = Graph("atoms", Atoms, queue=QUEUE, model=answer)


def query(folder: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 42")
        count: int = cursor.fetchone()[0]
    trace(folder, "query")
    return count


def tooling(folder: str, value: int) -> str:
    trace(folder, "tooling")
    return f"{value} worked on"


@tool("points.send")
def send(folder: str, name: str, *, key: str) -> str:
    """Cannot be repeated: done twice it would be known as unknown."""
    trace(folder, name, key)
    return "sent"


def look(folder: str, name: str) -> str:
    trace(folder, name)
    return f"saw {name}"


@atoms.node(then="act")
def begin(state: Atoms, ctx: Context) -> dict[str, Any]:
    return {"seen": [ctx.activity(look, state.folder, "before")]}


@atoms.node(then="end")
def act(state: Atoms, ctx: Context) -> dict[str, Any]:
    at = state.folder
    seen = [f"{ctx.now().isoformat()} {ctx.random()} {ctx.uuid()}"]
    hold(at, "value")
    seen.append(ctx.model(at, "hello"))
    hold(at, "model")
    activity = ctx.activity(query, at)
    hold(at, "query")
    seen.append(ctx.activity(tooling, at, activity))
    hold(at, "tooling")
    seen.append(ctx.effect(send, {"folder": at, "name": "sent"}).result)
    hold(at, "sent")
    ctx.activity(look, at, "noted")
    return {"seen": seen}


@atoms.node(then=END)
def end(state: Atoms, ctx: Context) -> dict[str, Any]:
    return {"said": ctx.model(state.folder, " / ".join(state.seen[1:]))}


# ---- five: the fourth step fails once -----------------------------------------------------------


class Five(State):
    folder: str
    rows: list[int] = []
    total: int = 0
    text: str = ""


five = Graph("five", Five, queue=QUEUE, model=answer)


def load(folder: str) -> list[int]:
    trace(folder, "load")
    return [3, 1, 2]


def clean(folder: str, values: list[int]) -> list[int]:
    trace(folder, "clean")
    return sorted(values)


def check(folder: str, text: str) -> str:
    trace(folder, "check")
    if not Path(folder, "mended").exists():
        raise RuntimeError("the printer is on fire")
    return text.upper()


@five.node(then="second")
def first(state: Five, ctx: Context) -> dict[str, Any]:
    return {"rows": ctx.activity(load, state.folder)}


@five.node(then="third")
def second(state: Five, ctx: Context) -> dict[str, Any]:
    return {"rows": ctx.activity(clean, state.folder, list(state.rows))}


@five.node(then="fourth")
def third(state: Five, ctx: Context) -> dict[str, Any]:
    return {"text": ctx.model(state.folder, f"sum {sum(state.rows)}"), "total": sum(state.rows)}


@five.node(then="fifth")
def fourth(state: Five, ctx: Context) -> dict[str, Any]:
    ctx.activity(look, state.folder, "beforehand")
    return {"text": ctx.activity(check, state.folder, state.text)}


@five.node(then=END)
def fifth(state: Five, ctx: Context) -> dict[str, Any]:
    return {"text": ctx.activity(look, state.folder, "last") + f", {state.text}"}


# ---- fetching: one long activity with a cursor --------------------------------------------------


class Fetching(State):
    folder: str
    n: int = 100
    every: int = 1
    beside_a_loop: bool = False
    files: list[dict[str, Any]] = []
    total: int = 0


fetching = Graph("fetching", Fetching, queue=QUEUE)
PART = 20


def item(folder: str, number: int) -> int:
    trace(folder, "item", str(number))
    return number * number


def fetch(folder: str, n: int, every: int) -> Any:
    """Each item once; a file for each twenty, and where it stands after each."""
    stand = cursor() or {"at": 0, "total": 0, "files": []}
    trace(folder, "call", str(stand["at"]))
    for number in range(stand["at"] + 1, n + 1):
        stand["total"] += item(folder, number)
        if number % PART == 0:
            text = f"items up to {number}".encode()
            stand["files"].append(current().artifact(f"part-{number}.txt", text, "text/plain"))
        stand["at"] = number
        progress(number, n, f"item {number}", cursor=stand, every=every)
        hold(folder, f"after-{number}")
    return stand


async def fetch_beside_a_loop(folder: str, n: int, every: int) -> Any:
    await asyncio.sleep(0)
    return fetch(folder, n, every)


@fetching.node(then=END)
def work(state: Fetching, ctx: Context) -> dict[str, Any]:
    how = fetch_beside_a_loop if state.beside_a_loop else fetch
    activity = ctx.activity(how, state.folder, state.n, state.every)
    return {"total": activity["total"], "files": activity["files"]}


# ---- sharing: one result for many threads -------------------------------------------------------


class Sharing(State):
    folder: str
    shared: str  # the folder in which the shared calls leave their lines
    question: str
    price: int = 0
    text: str = ""


sharing = Graph("sharing", Sharing, queue=QUEUE, model=answer)


def price(shared: str, question: str) -> int:
    trace(shared, "price", question)
    return len(question)


@sharing.node(then="tell")
def ask(state: Sharing, ctx: Context) -> dict[str, Any]:
    activity = ctx.activity(price, state.shared, state.question, cached=3600)
    hold(state.folder, "asked")
    return {"price": activity}


@sharing.node(then=END)
def tell(state: Sharing, ctx: Context) -> dict[str, Any]:
    return {"text": ctx.model(state.shared, state.question, cached=3600)}
