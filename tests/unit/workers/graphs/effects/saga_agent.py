"""An agent whose activity runs a saga."""

from __future__ import annotations

from typing import Any

from gatepost.contrib.saga import SagaManager
from workers.authoring.graph import END, Graph, State
from workers.node.context import Context

from .saga_samples import release_seat


class Trip(State):
    booked: bool = True


graph = Graph("saga-trips", Trip)


def book() -> bool:
    def pay() -> None:
        raise ValueError("declined")

    saga = SagaManager()
    return saga.execute_workflow([("seat", lambda: None, release_seat), ("pay", pay, None)])


@graph.node(then=END)
def go(state: Trip, ctx: Context) -> dict[str, Any]:
    return {"booked": ctx.activity(book)}
