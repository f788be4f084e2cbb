"""An agent whose C code holds the interpreter, and one that waits beside it; copied out.

What they do is seen in files alone, as in own_agents.
"""

from __future__ import annotations

import os
import re
import time
from pathlib import Path
from typing import Any

from workers.authoring.graph import END, Graph, State
from workers.node.context import Context

POOL = os.environ.get("HAZARD_POOL", "prefork")
HOLD_SECONDS = 40


def trace(folder: str, name: str) -> None:
    with Path(folder, f"{name}.log").open("a") as file:
        file.write(f"{os.getpid()} \n")


class Busy(State):
    folder: str
    out: str = ""


def busy(folder: str) -> str:
    trace(folder, "busy")
    start, n = time.time(), 24
    while time.time() - start < HOLD_SECONDS:
        re.match(r"(a+)+$", "a" * n + "b")  # one call holds the interpreter, each twice as long
        n += 1
    return "done"


holding = Graph(f"busy-{POOL}", Busy, queue=f"busy-{POOL}")


@holding.node(then=END)
def hold(state: Busy, ctx: Context) -> dict[str, Any]:
    return {"out": ctx.activity(busy, state.folder)}


class Waiting(State):
    folder: str
    answer: str = ""


def wait(folder: str) -> str:
    trace(folder, "wait")
    while Path(folder, "wait.hold").exists():
        time.sleep(0.05)
    return "waited"


waiting = Graph(f"waiting-{POOL}", Waiting, queue=f"waiting-{POOL}")


@waiting.node(then=END)
def first(state: Waiting, ctx: Context) -> dict[str, Any]:
    return {"answer": ctx.activity(wait, state.folder)}
