"""`bench-hot`: a hot agent of small steps, each of which replaces a text of a given size."""

from __future__ import annotations

from gatepost import END, Context, Graph, State

from .growth import text


class Counting(State):
    """A count, and the text of its newest step."""

    size: int
    steps: int
    n: int = 0
    text: str = ""


graph = Graph("bench-hot", Counting, version=1, durability="hot")


def next_node(state: Counting) -> str:
    """On until there are enough steps."""
    return END if state.n >= state.steps else "count"


@graph.node(then=next_node, ways=("count", END))
def count(state: Counting, ctx: Context) -> dict[str, object]:
    """Replace the text."""
    return {"n": state.n + 1, "text": text(state.n, state.size)}
