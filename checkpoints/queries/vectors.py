"""The only reader of vectors of memories: what waits for one, what is new, what a store lacks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from ..postgres.guarded_rows import not_set_aside
from ..postgres.named_rows import fetch_named
from ..postgres.sql_files import sql_file
from ..tables.readers import record_of

PART: Final = "vectors"
# Characters of a text that its vector is made of: models read some 512 tokens.
TEXT_LENGTH: Final = 2_000

SQL: Final = sql_file(__file__, ready=not_set_aside(PART, "v.memory_id"))


@dataclass(frozen=True, slots=True)
class WaitingText:
    """The beginning of a text that has no vector yet."""

    id: UUID
    revision: int
    text: str


@dataclass(frozen=True, slots=True)
class StoredRow:
    """A memory's vector, None where the memory is gone."""

    id: UUID
    workspace: UUID
    revision: int
    xid: int
    scope: str
    owner: str
    kind: str
    vector: bytes | None


@dataclass(frozen=True, slots=True)
class Progress:
    """Memories, those of them that wait for a vector, and those whose vector was refused so far."""

    memories: int
    waiting: int
    refused: int


def waiting_texts(model: str, *, limit: int) -> list[WaitingText]:
    """Texts that wait for a vector of a model, the oldest first."""
    params = {"model": model, "limit": limit, "length": TEXT_LENGTH}
    return [record_of(WaitingText, row) for row in fetch_named(SQL.waiting, params)]


def vector_progress(model: str, *, workspace: UUID | None = None) -> Progress:
    """Count the vectors of a workspace, or of all, and those that are missing."""
    (row,) = fetch_named(SQL.progress, {"model": model, "workspace": workspace})
    return record_of(Progress, row)


def vector_bytes(model: str) -> int:
    """Bytes of a vector of this model; 0 while there is none."""
    rows = fetch_named(SQL.length, (model,))
    return int(rows[0].bytes) if rows else 0


def unsent_vectors(store: str, model: str, *, limit: int) -> list[StoredRow]:
    """Rows that a store does not have as they are; without a vector those to remove."""
    rows = fetch_named(SQL.unsent, {"store": store, "model": model, "limit": limit})
    return [_stored(row) for row in rows]


def unsent_count(store: str, model: str) -> int:
    """Count the rows that a store does not have as they are."""
    return int(fetch_named(SQL.unsent_count, {"store": store, "model": model})[0].n)


def oldest_open_transaction() -> int:
    """The oldest transaction that may still write; read before what it may have written."""
    return int(fetch_named(SQL.oldest_open)[0].xid)


@dataclass(frozen=True, slots=True)
class ChangedRow:
    """A row that a transaction has written, and whether it has a vector of the model asked for."""

    id: UUID
    revision: int
    xid: int
    has_vector: bool


def changed_vectors(workspace: UUID, model: str, *, since: int) -> list[ChangedRow]:
    """Rows of a workspace that have been written since a transaction began."""
    params = {"workspace": workspace, "model": model, "since": since}
    return [record_of(ChangedRow, row) for row in fetch_named(SQL.changed, params)]


def vectors_named(ids: Sequence[UUID], model: str) -> list[StoredRow]:
    """Those of these memories that have a vector of the model."""
    return [_stored(row) for row in fetch_named(SQL.named, (list(ids), model))]


def vector_page(model: str, *, after: UUID | None, limit: int) -> list[StoredRow]:
    """Vectors of a model after a memory's, in the order of their ids."""
    params = {"model": model, "after": after, "limit": limit}
    return [_stored(row) for row in fetch_named(SQL.page, params)]


def vector_revisions(model: str) -> dict[UUID, dict[UUID, int]]:
    """{workspace: {memory: revision}} of all vectors of a model."""
    results: dict[UUID, dict[UUID, int]] = {}
    for row in fetch_named(SQL.revisions, (model,)):
        results.setdefault(row.workspace, {})[row.id] = row.revision
    return results


def _stored(row: object) -> StoredRow:
    return record_of(StoredRow, row, vector=lambda value: value and bytes(value))
