"""`bench-growing`: one node that appends a text of a given size until there are enough."""

from __future__ import annotations

import random
import string
from typing import Annotated

from benchmarks import handicap
from workers.context import Context
from workers.graph import END, Append, Graph, State

handicap.install()

# Letters that no compression makes small, drawn once: making them is not what is measured.
_random = random.Random(7)
_TEXT = "".join(_random.choices(string.ascii_letters + string.digits, k=64_000))


def text(number: int, size: int) -> str:
    """The text of a step: `size` characters, another one for each number."""
    begin = number * 37 % (len(_TEXT) - size)
    return _TEXT[begin : begin + size]


class Growing(State):
    """A list that grows."""

    size: int
    steps: int
    log: Annotated[list[str], Append()] = []


graph = Graph("bench-growing", Growing, version=1)


def way(state: Growing) -> str:
    """On until the list is long enough."""
    return END if len(state.log) >= state.steps else "grow"


@graph.node(then=way, ways=("grow", END))
def grow(state: Growing, ctx: Context) -> dict[str, object]:
    """Append one text."""
    return {"log": [text(len(state.log), state.size)]}
