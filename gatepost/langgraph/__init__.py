"""Compiled LangGraph graphs as agents on our workers: one superstep of theirs is one step of ours.

    agent = from_langgraph(compiled, name="research")

Needs `langgraph` and `gatepost-client` in the environment of the worker.
"""

from .agents import from_langgraph
from .store import GatepostStore
from .tools import Effect

__all__ = ["Effect", "GatepostStore", "from_langgraph"]
