"""How a graph is announced: its nodes, and the channels whose lists grow."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from .tuples import INPUT, NAME_MAX, NODES_MAX

Json = dict[str, Any]
CHANNELS_MAX = 200


def announced(graph: Any = None, searchable: Collection[str] = ()) -> Json:
    """A compiled graph as it is announced; without one a graph of which nothing is known yet.

    A channel in `searchable` is announced as one whose values replace each other.
    """
    if graph is None:
        return _announced((), (), searchable)
    nodes = [name for name in graph.nodes if not name.startswith("__")]
    lists = [name for name, one in graph.channels.items() if _grows(one)]
    return _announced(nodes, lists, searchable)


def announced_input(state: Mapping[str, Any], searchable: Collection[str] = ()) -> Json:
    """A graph by its first input: the lists in it are likely to grow."""
    values = state.get(INPUT)
    members = values.items() if isinstance(values, dict) else ()
    return _announced((), (n for n, value in members if isinstance(value, list)), searchable)


def _grows(channel: Any) -> bool:
    """Return whether it joins lists, such as messages: reducers begin with an empty value."""
    return isinstance(getattr(channel, "value", None), list) and hasattr(channel, "operator")


def _announced(nodes: Iterable[str], lists: Iterable[str], searchable: Collection[str]) -> Json:
    # Lists that are announced as such are hashed by their new items alone.
    growing = [name for name in lists if name not in searchable]
    names = [name for name in growing if name.strip() and len(name) <= NAME_MAX]
    return {
        "framework": "langgraph",
        "channels": dict.fromkeys(names[:CHANNELS_MAX], "append"),
        "nodes": list(dict.fromkeys(name[:NAME_MAX] for name in nodes))[:NODES_MAX],
        **({"searchable": list(searchable)} if searchable else {}),
    }
