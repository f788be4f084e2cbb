"""Agents of somebody else: copied out of the repository and named by GATEPOST_AGENTS.

`parcels` is an agent as a user writes one. `script` does what its input says, so that a hazard can
strike at any place of a step; `thousand` only counts. What they do is seen in files alone: one
line per call, and a call stays where a file `<name>.hold` lies until that is gone.
"""

from __future__ import annotations

import hashlib
import logging
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

from django.db import connection

from workers.authoring.errors import Rejected
from workers.authoring.graph import END, Append, Gate, Graph, State, Sum, Way, tool
from workers.node.context import Context, current

QUEUE = os.environ.get("HAZARD_QUEUE", "gatepost")
SUFFIX = "" if QUEUE == "gatepost" else f"-{QUEUE}"


def trace(folder: str, name: str, text: str = "") -> None:
    """One line per call; short appends of several processes do not mix."""
    with Path(folder, f"{name}.log").open("a") as file:
        file.write(f"{os.getpid()} {text}\n")


def hold(folder: str, name: str) -> None:
    """Stay while the file lies there, a minute at most; only looks."""
    deadline = time.monotonic() + 60
    while Path(folder, f"{name}.hold").exists() and time.monotonic() < deadline:
        time.sleep(0.005)


# ---- script -------------------------------------------------------------------------------------


class Script(State):
    folder: str
    script: list[list[list[str]]]
    at: Annotated[int, Sum()] = 0
    notes: Annotated[list[str], Append()] = []
    heard: Annotated[list[str], Append()] = []


def look(folder: str, name: str) -> str:
    trace(folder, name)
    hold(folder, f"in-{name}")
    return f"saw {name}"


def follow(folder: str, name: str) -> None:
    """Record the header that this call would pass on."""
    trace(folder, name, current().traceparent)
    hold(folder, f"in-{name}")


def hear(folder: str, name: str, heard: list[str]) -> str:
    trace(folder, name, "+".join(heard))
    hold(folder, f"in-{name}")
    return f"{name} heard {'+'.join(heard)}"


def backend(folder: str, name: str) -> int:
    """Which backend of PostgreSQL serves this process."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        count: int = cursor.fetchone()[0]
    trace(folder, name, str(count))
    return count


def fetch_back(args: dict[str, Any], result: Any, *, key: str) -> str:
    trace(args["folder"], f"undo-{args['name']}", key)
    if Path(args["folder"], f"{args['name']}.broken").exists():
        raise OSError(f"{args['name']} does not answer")
    Path(args["folder"], f"{args['name']}.parcel").unlink(missing_ok=True)
    hold(args["folder"], f"in-undo-{args['name']}")
    return "fetched back"


@tool(f"deliver{SUFFIX}", undo=fetch_back, idempotent=True)
def deliver(folder: str, name: str, *, key: str) -> str:
    """Write the parcel, however often."""
    trace(folder, name, key)
    hold(folder, f"before-{name}")
    Path(folder, f"{name}.parcel").write_text(key)
    hold(folder, f"in-{name}")
    return f"delivered {name}"


@tool(f"shout{SUFFIX}")
def shout(folder: str, name: str, *, key: str) -> str:
    """Cannot be repeated."""
    trace(folder, name, key)
    hold(folder, f"in-{name}")
    return f"shouted {name}"


@tool(f"hand{SUFFIX}", undo=fetch_back)
def hand(folder: str, name: str, *, key: str) -> str:
    """Cannot be repeated, but taken back."""
    trace(folder, name, key)
    Path(folder, f"{name}.parcel").write_text(key)
    hold(folder, f"in-{name}")
    return f"handed {name}"


def question(ctx: Context, at: dict[str, str]) -> str:
    try:
        return str(ctx.effect(deliver, at, gate=Gate(f"Deliver {at['name']}?")).result)
    except Rejected as no:
        return f"kept {at['name']}: {no.comment}"


script = Graph(f"script{SUFFIX}", Script, queue=QUEUE, message_channel="heard")


def until_done(state: Script) -> Way:
    left = len(state.script) - state.at
    return Way("play" if left else END, f"{left} steps left")


@script.node(then=until_done, ways=("play", END))
def play(state: Script, ctx: Context) -> dict[str, Any]:
    notes = []
    for order, name in state.script[state.at]:
        at = {"folder": state.folder, "name": name}
        if order == "look":
            notes.append(ctx.activity(look, state.folder, name, key=name))
        elif order == "hear":
            notes.append(ctx.activity(hear, state.folder, name, state.heard, key=name))
        elif order == "follow":
            ctx.activity(follow, state.folder, name, key=name)
        elif order == "backend":
            ctx.activity(backend, state.folder, name, key=name)
        elif order == "hold":
            hold(state.folder, name)
        elif order == "say":
            logging.getLogger("own_agents").warning(name)
        elif order == "think":
            ctx.think(name)
        elif order == "sleep":
            ctx.sleep(float(name))
        elif order == "deliver":
            notes.append(ctx.effect(deliver, at).result)
        elif order == "shout":
            notes.append(ctx.effect(shout, at).result)
        elif order == "hand":
            notes.append(ctx.effect(hand, at).result)
        elif order == "ask":
            notes.append(question(ctx, at))
        elif order == "fall" and not Path(state.folder, f"{name}.mended").exists():
            os._exit(7)
        elif order == "break":
            raise ValueError(name)
    return {"at": 1, "notes": notes}


# ---- journey: what it did is undone when it breaks ----

journey = Graph(f"journey{SUFFIX}", Script, queue=QUEUE, on_failure="undo")
journey.node("play", then=until_done, ways=("play", END))(play)


def saga_back(folder: str, name: str, *, key: str) -> None:
    """A compensation that any process can call."""
    trace(folder, f"undo-{name}", key)
    hold(folder, f"in-undo-{name}")


# ---- fan: two nodes in one step ------------------------------------------------------------------


class Fan(State):
    folder: str
    notes: Annotated[list[str], Append()] = []


fan = Graph(f"fan{SUFFIX}", Fan, queue=QUEUE)


@fan.node(then=("ask_first", "beside"))
def begin(state: Fan, ctx: Context) -> dict[str, Any]:
    return {}


@fan.node(then="end", gate=True)
def ask_first(state: Fan, ctx: Context) -> dict[str, Any]:
    return {"notes": [question(ctx, {"folder": state.folder, "name": "parcel"})]}


@fan.node(then="end")
def beside(state: Fan, ctx: Context) -> dict[str, Any]:
    return {"notes": [ctx.activity(look, state.folder, "beside")]}


@fan.node(then=END)
def end(state: Fan, ctx: Context) -> dict[str, Any]:
    return {"notes": [ctx.activity(look, state.folder, "end")]}


# ---- dozer: sleeps between two looks -------------------------------------------------------------


class Doze(State):
    folder: str
    seconds: float


dozer = Graph(f"dozer{SUFFIX}", Doze, queue=QUEUE)


@dozer.node(then=END)
def doze(state: Doze, ctx: Context) -> dict[str, Any]:
    ctx.activity(look, state.folder, "before", key="before")
    ctx.sleep(state.seconds)
    ctx.activity(look, state.folder, "after", key="after")
    return {}


# ---- thousand -----------------------------------------------------------------------------------


class Count(State):
    folder: str
    upto: int
    at: Annotated[int, Sum()] = 0
    text: str = ""


thousand = Graph(f"thousand{SUFFIX}", Count, queue=QUEUE)


def count(folder: str, number: int) -> int:
    trace(folder, "count", str(number))
    return number


@thousand.node(then=lambda state: "step" if state.at < state.upto else END, ways=("step", END))
def step(state: Count, ctx: Context) -> dict[str, Any]:
    number = ctx.activity(count, state.folder, state.at + 1)
    return {"at": 1, "text": f"{state.text[:20]} {number}"}


# ---- parcels ------------------------------------------------------------------------------------


class Parcel(State):
    folder: str
    to: str = "Ada"
    weighed: int = 0
    outcome: str = ""


parcels = Graph(f"parcels{SUFFIX}", Parcel, queue=f"own-queue{SUFFIX}", label="Parcels")


def weigh(to: str) -> int:
    return 100 + len(to)


@parcels.node(then="send")
def pack(state: Parcel, ctx: Context) -> dict[str, Any]:
    return {"weighed": ctx.activity(weigh, state.to)}


@parcels.node(then=END, gate=True)
def send(state: Parcel, ctx: Context) -> dict[str, Any]:
    ctx.think(f"{state.weighed} grams are cheap to send")
    try:
        done = ctx.effect(
            deliver, {"folder": state.folder, "name": state.to}, gate=Gate("Send the parcel?")
        )
    except Rejected as no:
        return {"outcome": f"kept: {no.comment}"}
    return {"outcome": f"{done.result}, {done.comment}"}


# ---- large files --------------------------------------------------------------------------------


class Large(State):
    folder: str
    size: int
    given: dict[str, Any] | None = None
    made: dict[str, Any] | None = None
    read: int = 0
    sha256: str = ""


large = Graph(f"large{SUFFIX}", Large, queue=QUEUE)


def pieces(size: int) -> Iterator[bytes]:
    """`size` bytes that differ from piece to piece, a piece at a time."""
    block = bytes(range(256)) * 1024
    left, number = size, 0
    while left:
        piece = (number.to_bytes(8, "big") + block)[: min(left, len(block))]
        left, number = left - len(piece), number + 1
        yield piece


@large.node(then="measure")
def make(state: Large, ctx: Context) -> dict[str, Any]:
    return {"made": ctx.artifact("large.bin", pieces(state.size), "application/octet-stream")}


@large.node(then=END)
def measure(state: Large, ctx: Context) -> dict[str, Any]:
    digest, n = hashlib.sha256(), 0
    with ctx.open_artifact(state.given or state.made or {}) as file:
        while piece := file.read(1 << 20):
            digest.update(piece)
            n += len(piece)
    return {"read": n, "sha256": digest.hexdigest()}
