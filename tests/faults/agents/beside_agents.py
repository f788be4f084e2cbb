"""An agent whose second step has four nodes that work at the same time; for an unguarded worker.

What they do is seen in files alone: one line per call of a node. A node stays where a file
`<name>.hold` lies until that is gone.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Annotated, Any

from workers.authoring.graph import END, Append, Graph, State
from workers.node.context import Context

NAMES = ("one", "two", "three", "four")
THREADS = os.environ.get("HAZARD_POOL") == "threads"


class Beside(State):
    folder: str
    seconds: float = 0
    seen: Annotated[list[str], Append()] = []


graph = Graph(
    "beside-each-other-threads" if THREADS else "beside-each-other",
    Beside,
    queue="strings" if THREADS else "together",
)


@graph.node(then=NAMES)
def begin(state: Beside, ctx: Context) -> dict[str, Any]:
    return {}


def wait(seconds: float) -> float:
    time.sleep(seconds)
    return seconds


def declare(name: str) -> None:
    # Its own limit: what hangs here is ended long before the others would be.
    limit = 1.5 if name == "four" else None

    def call(state: Beside, ctx: Context) -> dict[str, Any]:
        folder = Path(state.folder)
        with (folder / f"{name}.log").open("a") as file:
            file.write(f"{os.getpid()} \n")
        ctx.activity(wait, state.seconds)
        while (folder / f"{name}.hold").exists():
            time.sleep(0.01)
        return {"seen": [name]}

    graph.node(name, then=END, time_limit=limit)(call)


for each in NAMES:
    declare(each)
