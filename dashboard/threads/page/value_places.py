"""Places of the values of the shown state, in words: hot store, database or file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from checkpoints import queries, store
from checkpoints.errors import ContentAway, ContentErased, CorruptHistory, NotFound
from checkpoints.hot.streams import HotStoreAway
from checkpoints.payload_kinds import DATABASE, FILE
from checkpoints.views import CheckpointRow
from dashboard.documents.state_document import files_in
from dashboard.wording.savings import counted


@dataclass(frozen=True, slots=True)
class ShownPlace:
    """A channel: the place of its value, the value's size, and what waits to change it.

    `note` says more of the place.
    """

    channel: str
    store: str
    bytes: int
    sha256: str
    note: str
    waits: str


def places_of(
    point: CheckpointRow, state: Mapping[str, Any], *, hot_head: bool
) -> list[ShownPlace]:
    """The place of each value at a checkpoint, in the order of its state; none if it is unread.

    `hot_head`: it is the newest of a hot thread, whose next steps may wait in the hot store.
    """
    try:
        places = {one.channel: one for one in queries.places_at(point.thread, point.id)}
    except (ContentAway, ContentErased, CorruptHistory, NotFound):
        return []
    waiting = _waiting(point) if hot_head else {}
    return [
        ShownPlace(
            channel,
            one.store,
            one.bytes,
            one.sha256,
            _note(one, value),
            _words(waiting.get(channel, 0)),
        )
        for channel, value in state.items()
        if (one := places.get(channel)) is not None
    ]


def _note(one: queries.ValuePlace, value: Any) -> str:
    if one.store == FILE:
        return "kept once, by its hash"
    if n := sum(1 for _ in files_in(value)):
        return f"refers to {counted(n, 'file')}"
    return "kept once, by its hash" if one.store == DATABASE and one.sha256 else ""


def _waiting(point: CheckpointRow) -> Mapping[str, int]:
    try:
        return store.waiting_channels(point.thread)
    except HotStoreAway:
        return {}


def _words(steps: int) -> str:
    if not steps:
        return ""
    more = " at least" if steps >= store.CHANNELS_OF else ""
    return f"newer value in the hot store:{more} {counted(steps, 'step')} not in the database yet"
