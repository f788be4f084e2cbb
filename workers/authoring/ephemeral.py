"""Refuse, when an agent is registered, what an agent that keeps nothing can't do."""

from __future__ import annotations

from collections.abc import Mapping

from checkpoints.durabilities import EPHEMERAL
from checkpoints.payload_kinds import DATABASE

from .errors import GraphError
from .graph import Graph
from .tools import Tool


def check_ephemeral(graph: Graph, tools: Mapping[str, Tool]) -> None:
    """Refuse, with the reason, what an agent that keeps nothing can't do; others pass."""
    if graph.durability != EPHEMERAL:
        return
    gates = [node.name for node in graph.nodes.values() if node.gate or node.on_expired]
    undone = [name for name, tool in tools.items() if tool.undo is not None]
    kept_in_files = graph.payloads != DATABASE
    for what, why in (
        (
            f"the node {gates[0]!r} has a gate" if gates else "",
            "a request for approval has to be kept until somebody decides",
        ),
        (
            f"the tool {undone[0]!r} has an undo" if undone else "",
            "an undo needs the record of what was done",
        ),
        (
            f"the tool {next(iter(tools))!r} changes something outside" if tools else "",
            "an effect is recorded before it happens, so that it happens once",
        ),
        ("on_failure='undo'" if graph.on_failure == "undo" else "", "there is no record to undo"),
        (
            f"payloads={graph.payloads!r}" if kept_in_files else "",
            "no value of its threads is stored",
        ),
        (
            f"the channel {next(iter(graph.encrypted))!r} is encrypted" if graph.encrypted else "",
            "its state lies in memory as it is, without a key",
        ),
        (
            f"the channel {graph.searchable[0]!r} is searchable" if graph.searchable else "",
            "searched values are stored with the thread",
        ),
    ):
        if what:
            raise GraphError(
                f"The agent {graph.name!r} can't be ephemeral, since that keeps nothing: {what}, "
                f"and {why}. Leave out durability='ephemeral', or what needs a record."
            )
