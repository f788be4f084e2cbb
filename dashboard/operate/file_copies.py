"""Copy files from one storage to another, each compared with its hash; resumed by beginning again.

What lies in the target with the same bytes is not sent again, so a copy that was stopped or killed
continues where it was, and a second one brings what was written meanwhile.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import PurePosixPath
from typing import Final

from django.core.files import File
from django.core.files.storage import Storage

from checkpoints.capsules import layout
from checkpoints.errors import ContentAway

BLOCK: Final = 256 * 1024
_HASH: Final = re.compile(r"[0-9a-f]{64}")
# Files that are still being written, and second names of files on a disk.
_UNFINISHED: Final = re.compile(r"artifacts/incoming|threads/[^/]+/\.new-[^/]*")
_SECOND_NAMES: Final = re.compile(r"threads/[^/]+/checkpoint-\d+/files")


@dataclass
class Copied:
    """Counts of a copy; `damaged` names files whose bytes are not those of their names."""

    sent: int = 0
    there: int = 0
    bytes: int = 0
    damaged: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class HashedFile:
    """A file of a storage or folder by its name there, with the hash of its bytes."""

    name: str
    sha256: str
    bytes: int


def copy_files(source: Storage, target: Storage, counts: Copied) -> Iterator[HashedFile]:
    """Copy all files, and count; yields each that the target has now.

    Raises ContentAway where a storage fails.
    """
    try:
        for name in names_in(source):
            if (copied := _copy(source, target, name, counts)) is not None:
                yield copied
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise ContentAway(f"The copy has stopped: {why}. The same call continues it.") from error


def _copy(source: Storage, target: Storage, name: str, counts: Copied) -> HashedFile | None:
    """Copy one file: read it, compare it, send it, read it again in the target.

    None where it is damaged or gone: a thread has replaced its folder, or was erased.
    """
    try:
        digest, size = digest_of(source, name)
    except FileNotFoundError:
        return None
    stem = PurePosixPath(name).name.removesuffix(".json")
    if _HASH.fullmatch(stem) and stem != digest:
        counts.damaged.append(name)
        return None
    if _has(target, name, digest, size):
        counts.there += 1
        return HashedFile(name, digest, size)
    try:
        file = source.open(name, "rb")
    except FileNotFoundError:
        return None
    with file:
        target.save(name, File(file))
    if not _has(target, name, digest, size):
        raise OSError(5, f"The target has other bytes of {name}")
    counts.sent += 1
    counts.bytes += size
    return HashedFile(name, digest, size)


def _has(storage: Storage, name: str, digest: str, size: int) -> bool:
    try:
        return storage.size(name) == size and digest_of(storage, name) == (digest, size)
    except FileNotFoundError:
        return False


def digest_of(storage: Storage, name: str) -> tuple[str, int]:
    """SHA-256 and bytes of a file; raises FileNotFoundError."""
    digest, size = sha256(), 0
    with storage.open(name, "rb") as file:
        while chunk := file.read(BLOCK):
            digest.update(chunk)
            size += len(chunk)
    return digest.hexdigest(), size


def names_in(storage: Storage, folder: str = "") -> Iterator[str]:
    """All names below a folder; a MANIFEST after what it lists, which makes the rest whole."""
    if _UNFINISHED.fullmatch(folder) or _SECOND_NAMES.fullmatch(folder):
        return
    try:
        folders, files = storage.listdir(folder)
    except FileNotFoundError:
        return
    above = f"{folder}/" if folder else ""
    for one in sorted(folders):
        yield from names_in(storage, above + one)
    for one in sorted(files, key=lambda one: (one == layout.MANIFEST, one)):
        yield above + one
