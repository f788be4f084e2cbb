"""Contents where their size puts them: in the database, and large ones in files."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from ..payload_kinds import DATABASE, LARGE_BYTES, LIMITS
from .database import DatabasePayloads
from .files import FilePayloads


@dataclass(frozen=True, slots=True)
class PayloadsBySize:
    """For hot agents: what is large does not fill the database; without `large_bytes` no file."""

    limit: int = LIMITS[DATABASE]
    large_bytes: int = LARGE_BYTES

    def in_file(self, size: int) -> bool:
        """Answer True if a value of this size lies in a file."""
        return 0 < self.large_bytes <= size

    def put(self, thread: UUID, contents: Mapping[str, bytes]) -> Mapping[str, bytes]:
        """Large ones are in their place first; the others go with the row."""
        large = {sha: raw for sha, raw in contents.items() if self.in_file(len(raw))}
        if large:
            FilePayloads().put(thread, large)
        return {sha: raw for sha, raw in contents.items() if sha not in large}

    def get(self, threads: Sequence[UUID], hashes: Collection[str]) -> dict[str, bytes]:
        """One query, then the files of what is left."""
        result = DatabasePayloads().get(threads, hashes)
        missing = [sha for sha in hashes if sha not in result]
        return result | FilePayloads().get(threads, missing) if missing else result
