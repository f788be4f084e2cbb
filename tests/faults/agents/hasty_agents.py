"""An agent of many quick steps: it commits nearly all the time."""

from __future__ import annotations

import logging
import os
from typing import Annotated

from workers.authoring.graph import END, Append, Graph, State
from workers.node.context import Context

QUEUE = os.environ.get("HAZARD_QUEUE", "gatepost")
log = logging.getLogger("hasty_agents")


class Hasty(State):
    folder: str
    rounds: int
    log: Annotated[list[int], Append()] = []


hasty = Graph(f"hasty-{QUEUE}", Hasty, queue=QUEUE)


def next_node(state: Hasty) -> str:
    return END if len(state.log) >= state.rounds else "haste"


@hasty.node(then=next_node, ways=("haste", END))
def haste(state: Hasty, ctx: Context) -> dict[str, object]:
    """Says which round it begins, in the log of its process only."""
    log.warning("begun %d", len(state.log))
    return {"log": [len(state.log)]}
