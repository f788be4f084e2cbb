"""The interface of a store of vectors, and what it holds of a memory: no text of it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol
from uuid import UUID

SETTING, KEY = "GATEPOST_VECTORS", "GATEPOST_VECTORS_KEY"
IN_PROCESS, QDRANT, MILVUS = "process", "qdrant:", "milvus:"
# The package of each server's client, and the extra that it comes with.
CLIENTS: Final = {QDRANT: ("qdrant_client", "memory"), MILVUS: ("pymilvus", "milvus")}
# Bytes of one number of a vector: float32, little endian.
NUMBER_BYTES: Final = 4


class VectorsAway(Exception):
    """A store does not answer; the text says why."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A memory in a store; `vector` has the length 1, as float32 in little endian.

    `owner` is whose memory it is, such as `agent:payments` (`owner_text`).
    """

    id: UUID
    revision: int
    workspace: UUID
    owner: str
    kind: str
    vector: bytes


@dataclass(frozen=True, slots=True)
class Search:
    """The question to a store: the `k` nearest of a workspace, of some owners and kinds or all."""

    workspace: UUID
    vector: bytes
    k: int
    owners: Collection[str] | None = None
    kinds: Collection[str] | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    """A memory that is near; `score` is the cosine of the angle."""

    id: UUID
    revision: int
    score: float


class VectorStore(Protocol):
    """A store of vectors; each method raises VectorsAway where it does not answer."""

    # Where it is and for which model, without a password.
    name: str

    def put(self, entries: Sequence[Entry]) -> None:
        """Add entries, or replace those of the same id. ValueError for another length."""

    def remove(self, workspace: UUID, ids: Iterable[UUID]) -> None:
        """Remove entries; those that are not there are passed over."""

    def search(self, search: Search) -> list[Hit]:
        """The nearest entries, the best first. ValueError for a vector of another length."""

    def revisions(self, workspace: UUID) -> dict[UUID, int]:
        """{memory: revision} of all entries of a workspace."""

    def count(self) -> int:
        """Entries of all workspaces."""

    def clear(self) -> None:
        """Remove all entries."""


def install(extra: str = "memory") -> str:
    """The way to install the packages of a store."""
    return f"the extra: pip install '.[{extra}]'."


def owner_text(scope: str, owner: str) -> str:
    """The owner of a memory as stores name it."""
    return f"{scope}:{owner}"
