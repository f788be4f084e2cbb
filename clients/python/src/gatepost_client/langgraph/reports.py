"""The records in which a report says what LangGraph keeps beside a thread's checkpoints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from ..wire.flow import Enter, Flow, Leave
from .leased_thread import LeasedThread
from .record import WRITES, PointKey

T = TypeVar("T")
Json = dict[str, Any]
AT_ONCE = 200  # records in a request
_PULLED = "~__pregel_pull, "


def alone(leased: LeasedThread, flow: Flow[T]) -> Flow[T]:
    """Perform a flow while no other one works on the same thread."""
    yield Enter(leased.name)
    try:
        return (yield from flow)
    finally:
        yield Leave(leased.name)


def position_of(ns: str, key: str) -> Json:
    """The position of a record of a namespace: at the node whose subgraph it is."""
    return _at(ns.split("|")[-1].partition(":")[0], key)


def _at(node: str, key: str) -> Json:
    return {"node": (node or "langgraph")[:100], "index": 0, "key": key[:190], "kind": "value"}


def records_of(key: PointKey, task: str, path: str, writes: Sequence[list[Any]]) -> list[Json]:
    """The records of a task's writes: one for its channels, one for each that has its own index."""
    ns, ident = key
    groups: dict[str, list[list[Any]]] = {}
    for write in writes:
        groups.setdefault(write[1] if write[0] < 0 else "", []).append(write)
    _, _, node = path.partition(_PULLED)
    args = {"ns": ns, "checkpoint": ident, "task": task, "path": path}
    return [
        {
            **_at(node, f"{ident} {task} {group}".strip()),
            "tool": WRITES,
            "args": args,
            "result": some,
        }
        for group, some in groups.items()
    ]
