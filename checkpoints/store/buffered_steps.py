"""A step as it waits in the hot store: the checkpoint and the events that a commit would write."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from pydantic_core import from_json, to_json

from ..hot import streams
from ..queries.states import saved_digests
from ..records import Work
from ..state import deltas
from ..states import EventKind
from .statement.moves import NewCheckpoint, NewEvent

BYTES_MAX: Final = 32 * 1024
# Steps that are looked at to say which channels wait in the hot store.
CHANNELS_OF: Final = 100
_IDS: Final = ("id", "parent", "parent_thread", "agent_version", "version")


@dataclass(frozen=True, slots=True)
class BufferedStep:
    """A step that is not committed yet; `version` is that of its thread.

    `delta` is canonical JSON, `digests` those that are saved with the checkpoint.
    """

    checkpoint: NewCheckpoint
    delta: bytes
    digests: bytes | None
    before: list[NewEvent]
    events: list[NewEvent]
    version: UUID


def bytes_max() -> int:
    """Bytes of the largest step that is buffered: the hot store keeps all it holds in memory."""
    return int(getattr(settings, "GATEPOST_HOT_STEP_BYTES", BYTES_MAX))


def encode_step(
    work: Work,
    checkpoint: NewCheckpoint,
    *,
    before: Sequence[NewEvent] = (),
    events: Sequence[NewEvent] = (),
) -> tuple[bytes, int]:
    """(the entry of a step, the size of its delta in bytes).

    One line of JSON with all but the delta, then the delta as it is hashed and stored. Raises
    InvalidValue.
    """
    c = checkpoint
    delta = deltas.canonical(dict(c.delta))
    entry = c._asdict()
    del entry["delta"]
    if c.digests is not None:
        due = saved_digests.due(c.number, len(delta))
        entry["digests"] = c.digests.to_bytes() if due else None
    if c.config is not None:
        entry["config"] = deltas.canonical(dict(c.config)).decode()
    entry["before"], entry["events"] = list(map(_as_json, before)), list(map(_as_json, events))
    entry["version"] = work.agent_version
    return to_json(entry, bytes_mode="hex") + b"\n" + delta, len(delta)


def waiting_channels(thread: UUID, *, at_most: int = CHANNELS_OF) -> dict[str, int]:
    """{channel: how many of the newest steps change it} that are in the hot store alone.

    Raises HotStoreAway, without waiting.
    """
    counts: dict[str, int] = {}
    for entry in streams.newest_entries_of(thread, at_most=at_most):
        delta = decode_step(entry.content).checkpoint.delta
        for channel in {name for body in delta.values() for name in body}:
            counts[channel] = counts.get(channel, 0) + 1
    return counts


def decode_step(content: bytes) -> BufferedStep:
    """The step that `encode_step` has encoded."""
    line, _, delta = content.partition(b"\n")
    entry: dict[str, Any] = from_json(line)
    for name in _IDS:
        entry[name] = entry[name] and _id(entry[name])
    entry["delta"] = deltas.decode(delta)
    entry["state_hash"] = bytes.fromhex(entry["state_hash"])
    digests = entry.pop("digests")
    digests = digests and bytes.fromhex(digests)
    if entry["config"] is not None:
        entry["config"] = deltas.decode(entry["config"])
    before, events = (list(map(_event, entry.pop(name))) for name in ("before", "events"))
    version = entry.pop("version")
    return BufferedStep(NewCheckpoint(**entry), delta, digests, before, events, version)


# Steps of a thread name the same ids, and each one the id of the step before it.
_id = lru_cache(maxsize=1_024)(UUID)


def _as_json(event: NewEvent) -> list[Any]:
    return [str(event.kind), deltas.canonical(dict(event.data)).decode(), event.actor, event.v]


def _event(stored: Sequence[Any]) -> NewEvent:
    kind, data, actor, v = stored
    return NewEvent(EventKind(kind), deltas.decode(data), actor, v)
