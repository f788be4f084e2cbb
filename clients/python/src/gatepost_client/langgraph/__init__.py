"""LangGraph on Gatepost: checkpoint savers, a store, graphs that wait for people, values as JSON.

Compile a graph with `checkpointer=GatepostSaver("its name")` and start it by `run`. Needs the extra
`langgraph`.
"""

from .leased_thread import Outdated, Taken
from .runs import run, serve
from .saver import AsyncGatepostSaver, GatepostSaver
from .serializer import JsonSerializer
from .store import GatepostStore

__all__ = [
    "AsyncGatepostSaver",
    "GatepostSaver",
    "GatepostStore",
    "JsonSerializer",
    "Outdated",
    "Taken",
    "run",
    "serve",
]
