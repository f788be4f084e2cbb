"""A store in process follows the rows of PostgreSQL: before each search it reads what is new."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import batched
from typing import Final
from uuid import UUID

from checkpoints import queries
from checkpoints.queries import ChangedRow, StoredRow

from .stores import Entry, VectorStore, owner_text

ROWS_AT_ONCE: Final = 5_000


@dataclass(slots=True)
class Follower:
    """Fills a store of this process, up to the last transaction that it has read."""

    store: VectorStore
    model: str
    _since: dict[UUID, int] = field(default_factory=dict)
    _known: dict[UUID, ChangedRow] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def refresh(self, workspace: UUID) -> None:
        """Read what has changed since the last time: new vectors, corrected and gone memories."""
        with self._lock:
            # Read first: what is open now may commit rows below all that is read next.
            oldest = queries.oldest_open_transaction()
            since = self._since.get(workspace, 0)
            rows = queries.changed_vectors(workspace, self.model, since=since)
            new = [row for row in rows if self._known.get(row.id) != row]
            self.store.remove(workspace, [row.id for row in new if not row.has_vector])
            for some in batched([row.id for row in new if row.has_vector], ROWS_AT_ONCE):
                self.store.put(entries_of(queries.vectors_named(some, self.model)))
            self._known |= {row.id: row for row in new}
            self._since[workspace] = oldest


def entries_of(rows: Sequence[StoredRow]) -> list[Entry]:
    """Rows with a vector as a store takes them."""
    return [
        Entry(
            row.id, row.revision, row.workspace, owner_text(row.scope, row.owner), row.kind, vector
        )
        for row in rows
        if (vector := row.vector) is not None
    ]
