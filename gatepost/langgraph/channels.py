"""The channels of a LangGraph graph as channels of a Gatepost state, in JSON."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Annotated, Any, Final, NotRequired, Required, get_args, get_origin
from uuid import UUID

from langchain_core.messages import convert_to_messages
from langgraph.channels.base import BaseChannel
from langgraph.checkpoint.base import Checkpoint
from langgraph.graph.state import CompiledStateGraph

# Of the runtime: that of langgraph.checkpoint is older, and a graph takes such a checkpoint for a
# former one, whose channels named like nodes it drops.
from langgraph.pregel._checkpoint import LATEST_VERSION
from pydantic import create_model

from checkpoints.state import deltas
from checkpoints.state.channels import Joined
from gatepost import Append, GraphError, State, plain
from gatepost_client.langgraph import JsonSerializer

# The channel for what a checkpoint of LangGraph holds beside the values: versions, triggers.
ABOUT: Final = "langgraph"
_TYPED: Final = (str, bool, int, list[str])


@dataclass(frozen=True)
class WholeList(Append):
    """A list that each step writes whole; the delta holds only what the step added at the end."""

    def join(self, current: Any, updates: Sequence[Any], channel: str) -> Joined:
        """Append if the new list begins with the current one, else replace it."""
        value = updates[-1]
        if not isinstance(value, list) or not isinstance(current, list):
            return "set", value
        if deltas.canonical(value[: len(current)]) != deltas.canonical(current):
            return "set", value
        return "append", value[len(current) :]


def _unwrapped(hint: Any) -> Any:
    """Return a type without Annotated, Required and NotRequired."""
    while get_origin(hint) in (Annotated, Required, NotRequired):
        hint = get_args(hint)[0]
    return hint


class Channels:
    """Reads and writes the channels of one compiled graph."""

    def __init__(
        self, compiled: CompiledStateGraph[Any, Any, Any, Any], serde: JsonSerializer
    ) -> None:
        self.serde = serde
        specs = compiled.channels
        self._specs: dict[str, BaseChannel[Any, Any, Any]] = {}
        for name in compiled.stream_channels_list:
            spec = specs[name]
            if name == ABOUT or not name.isidentifier() or name.startswith("_"):
                raise GraphError(f"A channel cannot be named {name!r} here: rename it.")
            if isinstance(spec, BaseChannel):
                self._specs[name] = spec
        self._initial = {
            name: serde.encode(spec.get(), name) if spec.is_available() else None
            for name, spec in self._specs.items()
        }

    @cached_property
    def _of_messages(self) -> frozenset[str]:
        named = {n: getattr(s, "operator", None) for n, s in self._specs.items()}
        names = {n: getattr(operator, "__name__", "") for n, operator in named.items()}
        return frozenset(n for n, name in names.items() if "add_messages" in name)

    def state_class(self, name: str) -> type[State]:
        """Make the state class: a field per channel of the graph, None where it has no value."""
        fields: dict[str, Any] = {}
        for channel, spec in self._specs.items():
            hint = _unwrapped(spec.ValueType)
            is_list = hint is list or get_origin(hint) is list
            if hint not in _TYPED:
                hint = list[Any] if is_list else Any
            initial = self._initial[channel]
            typed = hint if initial is not None or hint is Any else hint | None
            fields[channel] = (Annotated[typed, WholeList()] if is_list else typed, initial)
        fields[ABOUT] = (dict[str, Any], {})
        return create_model(name, __base__=State, **fields)

    def values(self, state: State) -> dict[str, Any]:
        """Return the values of the channels as JSON."""
        return {name: plain(getattr(state, name)) for name in (*self._specs, ABOUT)}

    def input(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values that the thread was started with."""
        return {
            name: self._decoded(name, values[name])
            for name, initial in self._initial.items()
            if values[name] != initial
        }

    def checkpoint(self, thread: UUID, values: Mapping[str, Any]) -> Checkpoint:
        """Make a checkpoint of LangGraph from the state; its id is a hash of thread and values.

        So tasks and interrupts have the same ids whenever the step is repeated, and other ids
        after somebody has edited the state.
        """
        about = values[ABOUT]
        current = {
            name: self._decoded(name, values[name])
            for name in self._specs
            if values[name] is not None or name in about["nulls"]
        }
        versions = dict(about["versions"])
        newest = max(versions.values())
        digest = hashlib.sha256(deltas.canonical([str(thread), dict(values)])).digest()
        return {
            "v": LATEST_VERSION,
            "id": str(UUID(bytes=digest[:16])),
            "ts": datetime.now(UTC).isoformat(),
            "channel_values": {**self.serde.decode(about["hidden"]), **current},
            "channel_versions": {**dict.fromkeys(current, newest), **versions},
            "versions_seen": {node: dict(seen) for node, seen in about["seen"].items()},
            "updated_channels": None,
        }

    def update(
        self, before: Mapping[str, Any], checkpoint: Checkpoint, **about: Any
    ) -> dict[str, Any]:
        """Return the update of the state that a finished superstep makes."""
        current = checkpoint["channel_values"]
        after = {
            name: self.serde.encode(current[name], name) if name in current else self._initial[name]
            for name in self._specs
        }
        hidden = {name: value for name, value in current.items() if name not in self._specs}
        changed: dict[str, Any] = {
            name: value
            for name, value in after.items()
            if deltas.canonical([value]) != deltas.canonical([before[name]])
        }
        changed[ABOUT] = {
            **about,
            "versions": dict(checkpoint["channel_versions"]),
            "seen": {node: dict(seen) for node, seen in checkpoint["versions_seen"].items()},
            "hidden": self.serde.encode(hidden, ABOUT),
            "nulls": [name for name in self._specs if name in current and after[name] is None],
        }
        return changed

    def _decoded(self, name: str, value: Any) -> Any:
        decoded = self.serde.decode(value)
        if name in self._of_messages and isinstance(decoded, list):
            return convert_to_messages(decoded)  # people write {"role": ..., "content": ...}
        return decoded
