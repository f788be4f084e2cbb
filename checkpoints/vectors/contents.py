"""Fill a store of vectors from PostgreSQL, and compare the two."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from checkpoints import queries
from checkpoints.queries import StoredRow

from .feed import ROWS_AT_ONCE, entries_of
from .stores import VectorStore


@dataclass(frozen=True, slots=True)
class Difference:
    """Entries that a store has otherwise than PostgreSQL."""

    missing: int = 0
    other_revision: int = 0
    extra: int = 0

    def __bool__(self) -> bool:
        return bool(self.missing or self.other_revision or self.extra)


def bring(target: VectorStore, rows: Sequence[StoredRow]) -> None:
    """Put the vectors of rows into a store, and remove those of memories that are gone."""
    for workspace in {row.workspace for row in rows if row.vector is None}:
        gone = [row.id for row in rows if row.vector is None and row.workspace == workspace]
        target.remove(workspace, gone)
    target.put(entries_of(rows))


def fill(target: VectorStore, model: str, *, at_once: int = ROWS_AT_ONCE) -> int:
    """Bring all vectors of a model into a store and remove what else it has; how many there are."""
    after: UUID | None = None
    n = 0
    while rows := queries.vector_page(model, after=after, limit=at_once):
        bring(target, rows)
        n += len(rows)
        after = rows[-1].id
    for workspace, known in queries.vector_revisions(model).items():
        target.remove(workspace, target.revisions(workspace).keys() - known.keys())
    return n


def difference(target: VectorStore, model: str) -> Difference:
    """Compare ids and revisions of each workspace, and the number of all entries."""
    missing = other = total = 0
    for workspace, known in queries.vector_revisions(model).items():
        there = target.revisions(workspace)
        missing += len(known.keys() - there.keys())
        other += sum(1 for one, revision in there.items() if known.get(one, revision) != revision)
        total += len(known)
    return Difference(missing, other, target.count() - (total - missing))
