"""Files that state refers to: streamed in, named by content, kept in Django storage."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django.core.files.storage import default_storage
from django.db import connection
from uuid_utils.compat import uuid7

from checkpoints.payloads import store_file


def put_artifact(
    workspace: UUID, *, name: str, media_type: str, chunks: Iterable[bytes]
) -> dict[str, Any]:
    """Keep a file once per content; the reference that state holds.

    Returns {"$artifact": sha256, "name", "media_type", "size" (bytes)}. The bytes are in storage
    before the row is, so a row never points at nothing. Memory holds one chunk.
    """
    sha, size, path = place_file(workspace, chunks)
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO gp_artifact (id, workspace_id, sha256, name, media_type, size, path) "
            "VALUES (%s::uuid, %s::uuid, %s::varchar, %s::varchar, %s::varchar, %s::bigint, "
            "%s::varchar) ON CONFLICT DO NOTHING",
            (uuid7(), workspace, sha, name[:255], media_type, size, path),
        )
    return {"$artifact": sha, "name": name[:255], "media_type": media_type, "size": size}


def place_file(workspace: UUID, chunks: Iterable[bytes]) -> tuple[str, int, str]:
    """Put the bytes of a file in their place, without a row: (sha256, size, path in storage)."""
    return store_file(chunks, lambda sha: f"artifacts/{workspace}/{sha[:2]}/{sha}")


def forget_file(workspace: UUID, sha: str, path: str) -> None:
    """Take the bytes of a file away again that no row has come to name."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT 1 FROM gp_artifact WHERE workspace_id = %s::uuid AND sha256 = %s::varchar",
            (workspace, sha),
        )
        if cursor.fetchone() is None:
            default_storage.delete(path)
