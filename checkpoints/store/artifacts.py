"""Files that state refers to: streamed in, named by content, kept in Django storage."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django.core.files import File
from django.core.files.storage import default_storage
from django.db import connection
from uuid_utils.compat import uuid7


def put_artifact(
    workspace: UUID, *, name: str, media_type: str, chunks: Iterable[bytes]
) -> dict[str, Any]:
    """Keep a file once per content; the reference that state holds.

    Returns {"$artifact": sha256, "name", "media_type", "size" (bytes)}. The bytes are in storage
    before the row is, so a row never points at nothing.
    """
    digest, size = hashlib.sha256(), 0
    with tempfile.TemporaryFile() as spool:
        for chunk in chunks:
            digest.update(chunk)
            size += len(chunk)
            spool.write(chunk)
        spool.seek(0)
        sha = digest.hexdigest()
        path = f"artifacts/{workspace}/{sha[:2]}/{sha}"
        if not default_storage.exists(path):
            path = default_storage.save(path, File(spool))
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO gp_artifact (id, workspace_id, sha256, name, media_type, size, path) "
            "VALUES (%s::uuid, %s::uuid, %s::varchar, %s::varchar, %s::varchar, %s::bigint, "
            "%s::varchar) ON CONFLICT DO NOTHING",
            (uuid7(), workspace, sha, name[:255], media_type, size, path),
        )
    return {"$artifact": sha, "name": name[:255], "media_type": media_type, "size": size}
