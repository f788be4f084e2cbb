"""An agent of one node, played under the guard."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from workers.authoring.graph import END, Append, Graph, State
from workers.node.context import Context
from workers.testing.harness import Harness, Played


class Notes(State):
    what: str = ""
    out: Annotated[list[str], Append()] = []


def played(node: Callable[[Any, Context], Any], **more: Any) -> Played:
    """A thread of an agent with this node."""
    graph = Graph("one", Notes)
    graph.node("one", then=END)(node)
    return Harness(graph, **more).play({"what": "x"})
