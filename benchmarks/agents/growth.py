"""`bench-growing`: one node that appends a text of a given size until there are enough."""

from __future__ import annotations

import random
import string
from typing import Annotated

from benchmarks import handicap
from gatepost import END, Append, Context, Graph, State

handicap.install()

# Letters that no compression makes small, drawn once: making them is not what is measured.
_random = random.Random(7)
_TEXT = "".join(_random.choices(string.ascii_letters + string.digits, k=64_000))


def text(number: int, size: int) -> str:
    """The text of a step: `size` characters, others than those of its neighbours."""
    begin = number * (size + 1) % (len(_TEXT) - size)
    return _TEXT[begin : begin + size]


def about(number: int, size: int) -> int:
    """Sizes within a tenth around `size`, the same for the same number.

    Where bytes are counted, so that no size happens to fit the database's pages well or badly.
    """
    return size - size // 10 + number * 7_919 % (size // 5 + 1)


class Growing(State):
    """A list that grows; `uneven` lets the sizes differ."""

    size: int
    steps: int
    uneven: bool = False
    log: Annotated[list[str], Append()] = []


graph = Graph("bench-growing", Growing, version=1)


def next_node(state: Growing) -> str:
    """On until the list is long enough."""
    return END if len(state.log) >= state.steps else "grow"


@graph.node(then=next_node, ways=("grow", END))
def grow(state: Growing, ctx: Context) -> dict[str, object]:
    """Append one text."""
    number = len(state.log)
    size = about(number, state.size) if state.uneven else state.size
    return {"log": [text(number, size)]}
