"""`bench-recording`: one recorded activity and one appended text per step, both of a given size."""

from __future__ import annotations

from typing import Annotated

from benchmarks import handicap
from gatepost import Append, Context, Graph, State

from .growth import about, text

handicap.install()


class Recording(State):
    """A list that grows, without end."""

    size: int
    log: Annotated[list[str], Append()] = []


graph = Graph("bench-recording", Recording, version=1)


def look_up(number: int, size: int) -> str:
    """What is recorded: other text than what the step appends."""
    return text(number + 31, size)


@graph.node(then="record")
def record(state: Recording, ctx: Context) -> dict[str, object]:
    """Record one answer and append one text."""
    number = len(state.log)
    ctx.activity(look_up, number, about(number + 31, state.size))
    return {"log": [text(number, about(number, state.size))]}
