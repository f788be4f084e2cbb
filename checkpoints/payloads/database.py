"""Contents in the table gp_content, written by the very statement that names them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db import connection

from ..payload_kinds import DATABASE, LIMITS


@dataclass(frozen=True, slots=True)
class DatabasePayloads:
    """The default: nothing outside the database is needed to read a state."""

    limit: int = LIMITS[DATABASE]

    def put(self, thread: UUID, contents: Mapping[str, bytes]) -> Mapping[str, bytes]:
        """All of them go with the row."""
        return contents

    def get(self, threads: Sequence[UUID], hashes: Collection[str]) -> dict[str, bytes]:
        """One query by primary key."""
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT sha256, body FROM gp_content WHERE thread_id = ANY(%s::uuid[]) "
                "AND sha256 = ANY(%s::varchar[])",
                (list(threads), list(hashes)),
            )
            return {sha: body.encode() for sha, body in cursor.fetchall()}
