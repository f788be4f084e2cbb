"""A step as it waits in the hot store: the checkpoint and the events that a commit would write."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from ..queries.states import materialized, saved_digests
from ..records import Work
from ..state import deltas
from ..state.digests import Digests
from ..states import EventKind
from .statement.moves import NewCheckpoint, NewEvent

# A larger step is committed: the hot store keeps all that it holds in memory.
BYTES_MAX: Final = 32 * 1024
_IDS: Final = ("id", "parent", "parent_thread", "agent_version")
# What JSON keeps as it is.
_PLAIN: Final = tuple(
    name for name in NewCheckpoint._fields if name not in (*_IDS, "state_hash", "digests", "delta")
)


@dataclass(frozen=True, slots=True)
class BufferedStep:
    """A step that is not committed yet; `version` is that of its thread."""

    checkpoint: NewCheckpoint
    before: list[NewEvent]
    events: list[NewEvent]
    version: UUID


def encode_step(
    work: Work,
    checkpoint: NewCheckpoint,
    *,
    before: Sequence[NewEvent] = (),
    events: Sequence[NewEvent] = (),
) -> tuple[bytes, int]:
    """(the entry of a step, the size of its delta in bytes)."""
    c = checkpoint
    delta = deltas.canonical(dict(c.delta))
    entry: dict[str, Any] = {name: getattr(c, name) for name in _PLAIN}
    entry |= {name: _text(getattr(c, name)) for name in _IDS}
    entry["nodes"], entry["next_nodes"] = list(c.nodes), list(c.next_nodes)
    entry["state_hash"] = c.state_hash.hex()
    # The text that is hashed, and not JSON within JSON: it is decoded as PostgreSQL's is.
    entry["delta"] = delta.decode()
    if c.digests is not None and saved_digests.due(c.number, len(delta)):
        entry["digests"] = b64encode(c.digests.to_bytes()).decode()
    entry["before"], entry["events"] = list(map(_as_json, before)), list(map(_as_json, events))
    entry["version"] = str(work.agent_version)
    return deltas.canonical(entry), len(delta)


def decode_step(content: bytes) -> BufferedStep:
    """The step that `encode_step` has encoded."""
    entry: dict[str, Any] = deltas.decode(content)
    values = {name: entry[name] for name in _PLAIN}
    values |= {name: _id(entry[name]) for name in _IDS}
    digests = None
    if "digests" in entry:
        reducers = materialized.reducers_of(UUID(entry["agent_version"]))
        digests = Digests.resumed(b64decode(entry["digests"]), reducers)
    checkpoint = NewCheckpoint(
        **values,
        delta=deltas.decode(entry["delta"]),
        state_hash=bytes.fromhex(entry["state_hash"]),
        digests=digests,
    )
    before, events = ([_event(e) for e in entry[name]] for name in ("before", "events"))
    return BufferedStep(checkpoint, before, events, UUID(entry["version"]))


def _text(value: UUID | None) -> str | None:
    return None if value is None else str(value)


def _id(text: str | None) -> UUID | None:
    return None if text is None else UUID(text)


def _as_json(event: NewEvent) -> list[Any]:
    return [str(event.kind), dict(event.data), event.actor, event.v]


def _event(stored: Sequence[Any]) -> NewEvent:
    kind, data, actor, v = stored
    value: Mapping[str, Any] = data
    return NewEvent(EventKind(kind), value, actor, v)
