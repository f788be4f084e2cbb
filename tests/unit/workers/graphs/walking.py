"""A quick node that walks round and round; what it does in a round is planned by the test."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from workers.authoring.graph import END, Append, Graph, State
from workers.node.context import Context

# round -> what the node does in it, and how often each round was begun
plan: dict[int, Callable[[Context], Any]] = {}
begun: list[int] = []


class Walk(State):
    rounds: int = 8
    size: int = 10
    log: Annotated[list[str], Append()] = []
    mail: Annotated[list[str], Append()] = []


graph = Graph("walking", Walk, message_channel="mail")


def next_node(state: Walk) -> str:
    return END if len(state.log) >= state.rounds else "walk"


@graph.node(then=next_node, ways=("walk", END))
def walk(state: Walk, ctx: Context) -> dict[str, Any]:
    number = len(state.log)
    begun.append(number)
    if number in plan:
        plan[number](ctx)
    return {"log": [f"{number} with {len(state.mail)} " + "x" * state.size]}
