"""The small interface behind which contents lie: canonical JSON by thread and hash."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol
from uuid import UUID


class Payloads(Protocol):
    """A place for contents; the same content of a thread lies there once.

    `limit` is the size in bytes from which a value is kept here.
    """

    @property
    def limit(self) -> int: ...

    def put(self, thread: UUID, contents: Mapping[str, bytes]) -> Mapping[str, bytes]:
        """Keep contents by hash; what is answered must be written with the row that names it.

        All else is in its place, durable, before this returns: a row never points at nothing.
        """
        ...

    def get(self, threads: Sequence[UUID], hashes: Collection[str]) -> dict[str, bytes]:
        """Those of the contents that one of the threads has; the caller compares the hashes."""
        ...
