"""The digests of a state without the state: kept with some checkpoints, brought up to date here.

A person's change replaces whole channels. What the state's hash is then follows from the digests
of the other channels, and those from what the newest checkpoint before it kept and the few deltas
since. They prove themselves: what comes out must be the hash that the checkpoint has in the chain.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple
from uuid import UUID

from checkpoints.errors import GatepostError
from checkpoints.postgres import reads as prepared
from checkpoints.postgres.sql_files import sql_file
from checkpoints.state import deltas
from checkpoints.state.channels import reducers_of
from checkpoints.state.digests import Digests, NeedsState

# One of this many checkpoints of a branch saves its digests, which costs a step some two bytes.
EVERY = 32
# A delta of this many bytes costs each reader after it more than the digests cost the writer.
LARGE = 32 * 1024
# A fork whose past goes through more threads than these is read as a whole.
RANGES = 8
SQL = sql_file(__file__, every=str(EVERY), ranges=str(RANGES))


def due(number: int, delta_bytes: int) -> bool:
    """Answer True if the checkpoint of this number and this size of delta saves its digests.

    Number 0 alone is no reason: nothing precedes the first checkpoint.
    """
    return (number > 0 and number % EVERY == 0) or delta_bytes >= LARGE


class _Part(NamedTuple):
    """A row of the answer: the digests that were kept, or a delta after them."""

    root: str | None
    size: int | None
    channels: str
    is_first_input: bool
    saved: str | None
    delta: str


def digests_query(thread: UUID, checkpoint: UUID) -> prepared.Query:
    """The query of `digests_at`."""
    return SQL.digests, (thread, checkpoint)


def digests_at(
    thread: UUID, checkpoint: UUID, rows: Sequence[tuple[Any, ...]] | None = None
) -> Digests | None:
    """The digests of the state there, proved by its hash, at a cost without the length of the past.

    `rows` is the result of `digests_query`, if the caller has it. None where the saved digests are
    not enough: the checkpoint is unknown, history from before digests or from a capsule, an
    object that members joined since, damage.
    """
    if rows is None:
        rows = prepared.fetch(*digests_query(thread, checkpoint))
    if not rows:
        return None
    parts = [_Part._make(row) for row in rows]
    first, last = parts[0], parts[-1]
    reducers = reducers_of(deltas.decode(last.channels))
    if first.saved is None and not first.is_first_input:
        return None
    try:
        digests = Digests.resumed(bytes.fromhex(first.saved or ""), reducers)
        for part in parts if first.saved is None else parts[1:]:
            digests.follow(deltas.decode(part.delta))
    except (NeedsState, GatepostError, ValueError, TypeError, AttributeError):
        return None
    result = (digests.root.hex(), digests.size)
    return digests if result == (last.root, last.size) else None
