"""Files that state refers to: streamed in, named by content, kept in Django storage.

On a disk of ours a file appears whole under its name or not at all: it is written beside the
others, flushed, then renamed. Other storages are asked to save what was spooled before.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any
from uuid import UUID

from django.core.files import File
from django.core.files.storage import default_storage
from django.db import connection
from uuid_utils.compat import uuid7

LEFT_BEHIND_SECONDS = 24 * 3600
FILE_MODE = 0o644


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
    incoming = _incoming()
    if incoming is not None:
        return _on_disk(incoming, workspace, chunks)
    with tempfile.TemporaryFile() as spool:
        sha, size = _spooled(chunks, spool)
        path = _path(workspace, sha)
        spool.seek(0)
        if not default_storage.exists(path):
            path = default_storage.save(path, File(spool))
    return sha, size, path


def forget_file(workspace: UUID, sha: str, path: str) -> None:
    """Take the bytes of a file away again that no row has come to name."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT 1 FROM gp_artifact WHERE workspace_id = %s::uuid AND sha256 = %s::varchar",
            (workspace, sha),
        )
        if cursor.fetchone() is None:
            default_storage.delete(path)


def _path(workspace: UUID, sha: str) -> str:
    return f"artifacts/{workspace}/{sha[:2]}/{sha}"


def _incoming() -> Path | None:
    """Where files of this disk are written before they get their name; None for other storages."""
    try:
        folder = Path(default_storage.path("artifacts/incoming"))
    except NotImplementedError:
        return None
    folder.mkdir(parents=True, exist_ok=True)
    # What a killed process left behind; one that still writes is younger.
    for left in folder.iterdir():
        try:
            if time.time() - left.stat().st_mtime > LEFT_BEHIND_SECONDS:
                left.unlink()
        except FileNotFoundError:
            continue
    return folder


def _spooled(chunks: Iterable[bytes], into: IO[bytes]) -> tuple[str, int]:
    """(sha256, size) of what was written."""
    digest, size = hashlib.sha256(), 0
    for chunk in chunks:
        digest.update(chunk)
        size += len(chunk)
        into.write(chunk)
    return digest.hexdigest(), size


def _on_disk(incoming: Path, workspace: UUID, chunks: Iterable[bytes]) -> tuple[str, int, str]:
    """(sha256, size, path in storage) of a file that is whole where it stands."""
    handle, scratch = tempfile.mkstemp(dir=incoming)
    try:
        with os.fdopen(handle, "wb") as file:
            sha, size = _spooled(chunks, file)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(scratch, FILE_MODE)
        path = _path(workspace, sha)
        place = Path(default_storage.path(path))
        place.parent.mkdir(parents=True, exist_ok=True)
        os.replace(scratch, place)
        _flush_folder(place.parent)
    except BaseException:
        Path(scratch).unlink(missing_ok=True)
        raise
    return sha, size, path


def _flush_folder(folder: Path) -> None:
    """Make the new name as durable as the bytes."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
