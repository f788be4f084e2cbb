"""An agent that recalls and remembers, held before and after each of the two is on record.

A call, or the node, stays where a file `<name>.hold` lies until that is gone.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

from gatepost import END, Append, Context, Graph, MemoryRef, State
from workers.step import memories

LONGEST = 60
folders = [""]  # of the thread at work in this process


class Recalling(State):
    folder: str
    word: str
    seen: list[str] = []
    own: Annotated[list[MemoryRef], Append()] = []


recalling = Graph("recalling", Recalling, queue="recalling")


def hold(name: str) -> None:
    """Stay while the file is there."""
    path = Path(folders[0], f"{name}.hold")
    deadline = time.monotonic() + LONGEST
    while path.exists() and time.monotonic() < deadline:
        time.sleep(0.01)


def held_after(call: Callable[..., Any], name: str) -> Callable[..., Any]:
    def made(*args: Any, **more: Any) -> Any:
        result = call(*args, **more)
        with Path(folders[0], f"{name}.log").open("a") as file:
            file.write(f"{os.getpid()} \n")
        hold(name)
        return result

    return made


# Held there, a call has read or written, and nothing is on record yet.
held: Any = memories.Memories
held.recall = held_after(held.recall, "read")
held.remember = held_after(held.remember, "kept")


@recalling.node(then=END)
def work(state: Recalling, ctx: Context) -> dict[str, Any]:
    folders[0] = state.folder
    recalled = ctx.recall(state.word, k=10)
    hold("recalled")
    own = ctx.remember(f"The {state.word} was counted.", scope="workspace")
    hold("remembered")
    texts = [one.text or f"Gone: {one.gone}" for one in recalled]
    return {"seen": sorted(texts), "own": [own.ref]}
