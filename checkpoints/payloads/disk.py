"""How a file gets its name in storage: whole, or not at all.

On a disk of ours it is written beside the others, flushed, then renamed; a crash in between leaves
what was there before. Other storages are asked to save what was spooled before; a bucket replaces
the file of that name in one move.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from django.core.files import File
from django.core.files.storage import FileSystemStorage, default_storage

from ..errors import ContentAway

LEFT_BEHIND_SECONDS = 24 * 3600
FILE_MODE = 0o644


def store_file(chunks: Iterable[bytes], path_of: Callable[[str], str]) -> tuple[str, int, str]:
    """Store bytes under their path: (sha256, size, path); `path_of` names the path by the hash.

    Raises ContentAway where the storage takes nothing: it is full, read-only, not there. What the
    making of the chunks raises passes through.
    """
    if on_disk():
        with _taken():
            incoming = _incoming()
        return _on_disk(incoming, chunks, path_of)
    with tempfile.TemporaryFile() as spool:
        sha, size = _spooled(chunks, spool)
        path = path_of(sha)
        spool.seek(0)
        with _taken():
            if overwrites():
                return sha, size, default_storage.save(path, File(spool))
            if default_storage.exists(path) and default_storage.size(path) != size:
                replaced(path)
            if not default_storage.exists(path):
                path = default_storage.save(path, File(spool))
    return sha, size, path


@contextmanager
def _taken() -> Iterator[None]:
    """Turn an error of the storage into ContentAway, with its reason for people."""
    try:
        yield
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise ContentAway(f"The storage takes no files: {why}.") from error


def on_disk() -> bool:
    """Answer True if the storage is a local disk, where a rename is atomic.

    Checked by class: Django's storage in memory answers paths as well.
    """
    return isinstance(default_storage, FileSystemStorage)


def overwrites() -> bool:
    """Answer True if saving replaces the file of that name in one move, as in a bucket.

    Nobody has to look before, so nobody can come in between.
    """
    return bool(getattr(default_storage, "file_overwrite", False))


def replaced(path: str) -> None:
    """Make room in a storage that keeps the former file under a name and saves under another."""
    if not overwrites() and default_storage.exists(path):
        default_storage.delete(path)


def _incoming() -> Path:
    """The folder in which files of this disk are written before they get their name."""
    folder = Path(default_storage.path("artifacts/incoming"))
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
        with _taken():
            into.write(chunk)
    return digest.hexdigest(), size


def _on_disk(
    incoming: Path, chunks: Iterable[bytes], path_of: Callable[[str], str]
) -> tuple[str, int, str]:
    """(sha256, size, path in storage) of a file that is whole where it stands."""
    with _taken():
        handle, scratch = tempfile.mkstemp(dir=incoming)
    try:
        file = os.fdopen(handle, "wb")
        try:
            sha, size = _spooled(chunks, file)
            path = path_of(sha)
            where = Path(default_storage.path(path))
        except BaseException:
            # What is still buffered finds no room either, and is of no use.
            with suppress(OSError):
                file.close()
            raise
        with _taken():
            with file:
                flush(file)
            os.chmod(scratch, FILE_MODE)
            folder_for(where)
            os.replace(scratch, where)
            flush_folder(where.parent)
    except BaseException:
        Path(scratch).unlink(missing_ok=True)
        raise
    return sha, size, path


def folder_for(where: Path) -> None:
    """Make the folders above a file, each as durable as what will lie in it."""
    missing = [folder for folder in where.parents if not folder.exists()]
    for folder in reversed(missing):
        folder.mkdir(exist_ok=True)
        flush_folder(folder.parent)


def flush(file: IO[bytes]) -> None:
    """Make the bytes durable."""
    file.flush()
    os.fsync(file.fileno())


def flush_folder(folder: Path) -> None:
    """Make a new name as durable as the bytes."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
