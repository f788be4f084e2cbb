"""`bench-market-research` and `bench-payments`: the shipped agents, each step charged for.

Their graphs node for node: a call to the counting server, the shipped node as it is with its
activities, gates and effects, then a model call to the counting server. A fault so strikes when
the node has done its work and its step is not committed yet.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Any

from gatepost import Context, Graph, Node, State
from gatepost_agents.market_research import agent as research
from gatepost_agents.market_research.agent import publish_report
from gatepost_agents.payments import agent as paying
from gatepost_agents.payments.agent import mail, pay, reserve

from .waste import fetch, stand_in


class Research(research.Research):
    """`trial` names the task and how it is worked, for the server's counts."""

    trial: str = ""


class Payments(paying.Payments):
    """`trial` as above."""

    trial: str = ""


def _charged(node: Node, step: int) -> Callable[..., Any]:
    @wraps(node.call)
    def work(state: Any, ctx: Context) -> Any:
        ctx.activity(fetch, state.trial, step)
        update = node.call(state, ctx)
        ctx.model({"trial": state.trial, "step": step})
        return update

    return work


def charged(shipped: Graph, state: type[State]) -> Graph:
    """The same graph under a name of its own, with two calls that cost around each node's work."""
    made = replace(shipped, name=f"bench-{shipped.name}", state=state, model=stand_in, nodes={})
    for step, node in enumerate(shipped.nodes.values(), start=1):
        made.node(
            node.name,
            then=node.then,
            ways=node.ways,
            label=node.label,
            gate=node.gate,
            time_limit=node.time_limit,
            on_expired=node.on_expired,
        )(_charged(node, step))
    return made


market_research = charged(research.graph, Research)
payments = charged(paying.graph, Payments)

__all__ = ["mail", "market_research", "pay", "payments", "publish_report", "reserve"]
