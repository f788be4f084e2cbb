"""Checkpoints as LangGraph has them, made from a record; and the other way round."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langgraph.checkpoint.base import CheckpointTuple

from ..wire.errors import InvalidValue
from .record import ABOUT, RESERVED, ROOT, SEEN, VERSIONS, Point, Record
from .serializer import JsonSerializer

Json = dict[str, Any]
_APART = ("id", "channel_values", "channel_versions", "versions_seen")
_TRIGGER = "branch:to:"
_JOIN = "join:"
_TASKS, INPUT = "__pregel_tasks", "__start__"
# Nodes that a request takes, and the characters of their names.
NODES_MAX, NAME_MAX = 200, 100
# Where people changed the past, in the words that LangGraph has for it.
_SOURCES = {"edit": "update", "fork": "fork", "rollback": "fork"}


def config_of(thread: str, ns: str, ident: str) -> Json:
    """The config that names a checkpoint."""
    return {"configurable": {"thread_id": thread, "checkpoint_ns": ns, "checkpoint_id": ident}}


def state_of(
    serde: JsonSerializer,
    checkpoint: Mapping[str, Any],
    metadata: Mapping[str, Any],
    parent: str | None,
) -> Json:
    """The state as it is recorded: channels by their names, and what LangGraph says beside them.

    Raises InvalidValue with the path of a value that is not JSON.
    """
    state: Json = {}
    for channel, value in checkpoint["channel_values"].items():
        if channel in RESERVED:
            raise InvalidValue(f"A channel can't be named {channel}.")
        state[channel] = serde.encode(value, channel)
    rest = {name: value for name, value in checkpoint.items() if name not in _APART and value}
    about = {"checkpoint": rest, "metadata": dict(metadata)}
    return {
        **state,
        ABOUT: {**serde.encode(about, ABOUT), "parent": parent},
        VERSIONS: dict(checkpoint["channel_versions"]),
        SEEN: {node: dict(seen) for node, seen in checkpoint["versions_seen"].items()},
    }


def tuple_of(serde: JsonSerializer, thread: str, record: Record, point: Point) -> CheckpointTuple:
    """A checkpoint with its pending writes, in the order in which LangGraph applies them."""
    key = (point.ns, point.id)
    state = record.state(key)
    about = serde.decode({k: v for k, v in state[ABOUT].items() if k != "parent"})
    parent = record.parent(point)
    checkpoint: Json = {
        "updated_channels": None,
        **about["checkpoint"],
        "id": point.id,
        "channel_values": {k: serde.decode(v) for k, v in state.items() if k not in RESERVED},
        "channel_versions": dict(state[VERSIONS]),
        "versions_seen": {node: dict(seen) for node, seen in state[SEEN].items()},
    }
    return CheckpointTuple(
        config=config_of(thread, point.ns, point.id),
        checkpoint=checkpoint,
        metadata=_metadata(about["metadata"], point),
        parent_config=None if parent is None else config_of(thread, point.ns, parent),
        pending_writes=writes_of(serde, record, key),
    )


def _metadata(recorded: Json, point: Point) -> Json:
    if point.ns != ROOT or point.source == "step":
        return recorded
    return {**recorded, "source": _SOURCES.get(point.source, "update"), "gatepost": point.source}


def writes_of(
    serde: JsonSerializer, record: Record, key: tuple[str, str], channel: str = ""
) -> list[tuple[str, str, Any]]:
    """The pending writes of a checkpoint, or those to one channel."""
    return [
        (order[1], name, serde.decode(value))
        for order, name, value in record.writes_of(key)
        if not channel or name == channel
    ]


def nodes_of(state: Mapping[str, Any], before: Mapping[str, Any]) -> list[str]:
    """The nodes that worked between two states: those that have seen something new."""
    seen, former = state[SEEN], before.get(SEEN, {})
    nodes = [node for node, versions in seen.items() if versions != former.get(node)]
    return [node[:NAME_MAX] for node in nodes if not node.startswith("__")][:NODES_MAX]


def next_nodes_of(state: Mapping[str, Any]) -> list[str]:
    """The nodes that come next, as far as the channels of a StateGraph say it."""
    nodes = [name[len(_TRIGGER) :] for name in state if name.startswith(_TRIGGER)]
    for send in state.get(_TASKS) or ():
        if isinstance(send, dict) and isinstance(send.get("value"), dict):
            nodes.append(str(send["value"].get("node")))
    return [node[:NAME_MAX] for node in dict.fromkeys(nodes) if node][:NODES_MAX]


def is_busy(state: Mapping[str, Any]) -> bool:
    """Return whether nodes are likely to come next; a StateGraph says so in its channels."""
    if next_nodes_of(state) or INPUT in state:
        return True
    joins = [value for name, value in state.items() if name.startswith(_JOIN)]
    return any(value.get("value") if isinstance(value, dict) else value for value in joins)


def seeds_and_writes(
    serde: JsonSerializer, record: Record, point: Point, channels: Sequence[str]
) -> dict[str, Json]:
    """Per channel the nearest value among the ancestors, and the writes since, oldest first."""
    result: dict[str, Json] = {channel: {"writes": []} for channel in channels}
    left = set(channels)
    for before, is_applied in record.ancestors(point):
        key = (before.ns, before.id)
        state = record.state(key)
        for channel in sorted(left):
            if is_applied:
                result[channel]["writes"][:0] = writes_of(serde, record, key, channel)
            if channel in state:
                result[channel]["seed"] = serde.decode(state[channel])
                left.discard(channel)
        if not left:
            break
    return result
