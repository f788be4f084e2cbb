"""Places of the values of a state at a checkpoint: the database, or a file.

Told by what is stored, not by what the settings would choose now: limits may have changed, and what
was imported lies in the database. Read from the digests, so a long past and large values cost
nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from ... import payloads
from ...payload_kinds import DATABASE, FILE
from ...postgres.named_rows import fetch_named
from ..past import branch_ranges
from ..states import materialized, saved_digests


@dataclass(frozen=True, slots=True)
class ValuePlace:
    """A channel with the place of its value.

    `sha256` names the content that is kept beside the delta. A list or object that steps add to has
    none: it counts as in the database, where the deltas are that make it whole.
    """

    channel: str
    store: str
    bytes: int
    sha256: str = ""


def places_at(thread_id: UUID, checkpoint_id: UUID) -> list[ValuePlace]:
    """The place of each channel's value.

    Raises NotFound, ContentAway, CorruptHistory where the digests are not enough and the state
    can't be read.
    """
    digests = saved_digests.digests_at(thread_id, checkpoint_id)
    if digests is None:
        _, digests = materialized.checked(thread_id, checkpoint_id)
    parts = digests.parts
    named = {sha for _, size, sha in parts if sha and size >= payloads.LEAST}
    threads = list({thread for thread, *_ in branch_ranges(thread_id, checkpoint_id)})
    stored = _stored(threads, named)
    return [
        ValuePlace(channel, stored[sha], size, sha)
        if sha in stored
        else ValuePlace(channel, DATABASE, size)
        for channel, size, sha in parts
    ]


def _stored(threads: Sequence[UUID], hashes: set[str]) -> dict[str, str]:
    """{hash: place} of those that are contents of one of the threads."""
    if not hashes:
        return {}
    rows = fetch_named(
        "SELECT DISTINCT sha256 FROM gp_content WHERE thread_id = ANY(%s::uuid[]) "
        "AND sha256 = ANY(%s::varchar[])",
        (threads, sorted(hashes)),
    )
    result = {row.sha256: DATABASE for row in rows}
    files = payloads.FilePayloads().stored(threads, hashes - result.keys())
    return result | dict.fromkeys(files, FILE)
