"""`bench-lead`: starts as many `bench-child` as it is told and joins them."""

from __future__ import annotations

from benchmarks import handicap
from gatepost import END, Context, Graph, State

handicap.install()


class Leading(State):
    """How many children, and how many of them have come back."""

    number: int
    done: int = 0


class Working(State):
    """One number in, one out."""

    number: int = 0
    result: int = 0


lead = Graph("bench-lead", Leading)
child = Graph("bench-child", Working)


@lead.node(then=END)
def start_all(state: Leading, ctx: Context) -> dict[str, int]:
    """Start them all at once, without a limit."""
    items = [{"number": number} for number in range(state.number)]
    return {"done": len(ctx.map("bench-child", items, at_most=None).results)}


@child.node(then=END)
def work(state: Working, ctx: Context) -> dict[str, int]:
    """Something trivial."""
    return {"result": state.number + 1}
