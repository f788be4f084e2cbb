"""An agent of small steps, durable or hot, that can stop, ask, act and end."""

from __future__ import annotations

from typing import Annotated, Any

from workers.authoring.graph import (
    END,
    Append,
    Gate,
    Graph,
    Merge,
    Searchable,
    State,
    Tool,
    Way,
    tool,
)
from workers.node.context import Context


class Ticks(State):
    until: int = 10
    asks_at: int = -1
    n: int = 0
    size: int = 10
    log: Annotated[list[str], Append()] = []
    varied: bool = False
    town: Annotated[str, Searchable()] = ""
    marks: Annotated[dict[str, int], Merge()] = {}
    page: str = ""


def shown(n: int) -> None:
    """Look at the world while a number is shown; tests put their own in place."""


@tool("tick.publish")
def publish(n: int, *, key: str) -> dict[str, Any]:
    """Show a number outside."""
    shown(n)
    return {"shown": n}


TOOLS: dict[str, Tool] = {"tick.publish": publish}


def variety(n: int, ctx: Context) -> dict[str, Any]:
    """Changes of every kind: a title, a searchable value, a member, a value that is moved out."""
    if n % 7 == 0:
        ctx.suggest_title(f"Ticked {n} times")
    towns = {"town": f"town {n}"} if n % 2 else {}
    pages = {"page": f"{n} ".ljust(20_000, "y")} if n % 20 == 7 else {}
    return {"marks": {f"mark {n % 5}": n}} | towns | pages


def ticking(durability: Any, name: str = "ticking", *, acknowledge: Any = None) -> Graph:
    """A graph that counts up to `until`, and asks and publishes once at `asks_at`."""
    graph = Graph(name, Ticks, durability=durability, acknowledge=acknowledge)

    def onwards(state: Ticks) -> Way | str:
        if state.n == state.asks_at:
            return "ask"
        return Way("tick", "not there yet") if state.n < state.until else END

    @graph.node(then=onwards, ways=("tick", "ask", END))
    def tick(state: Ticks, ctx: Context) -> dict[str, Any]:
        if state.n % 3 == 0:
            ctx.think(f"now {state.n}")
        update = {"n": state.n + 1, "log": [f"{state.n} ".ljust(state.size, "x")]}
        return update | (variety(state.n, ctx) if state.varied else {})

    @graph.node(then="tick", gate=True)
    def ask(state: Ticks, ctx: Context) -> dict[str, Any]:
        ctx.effect(publish, {"n": state.n}, gate=Gate("Publish?"))
        return {"log": ["published"], "asks_at": -1}

    return graph
