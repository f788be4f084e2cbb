"""Make a backup: the database as of one moment, the anchor of its logs, and the files."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.core.files.storage import FileSystemStorage, Storage, default_storage
from django.db import connection

from checkpoints.postgres.snapshots import one_moment
from dashboard.errors import Conflict
from dashboard.operate.file_copies import Copied, HashedFile, copy_files
from dashboard.records.integrity import anchors
from dashboard.wording.text import size
from gatepost_command import __version__

from . import manifest, programs
from .manifest import ANCHOR, DUMP, FILES, PUBLISHED

PROGRESS_FILES: Final = 1_000


@dataclass(slots=True)
class Made:
    """Counts of a backup; `damaged` names files that are not in it, since they are damaged."""

    at: str = ""
    threads: int = 0
    files: int = 0
    bytes: int = 0
    damaged: list[str] = field(default_factory=list)


def trees() -> dict[str, Storage]:
    """The file storages of this installation, by the folder that each has in a backup."""
    return {FILES: default_storage, PUBLISHED: FileSystemStorage(settings.GATEPOST_PUBLISHED)}


def folder_of(folder: Path, name: str) -> FileSystemStorage:
    """One of these folders of a backup; others of the machine cannot read it."""
    return FileSystemStorage(
        folder / name, file_permissions_mode=0o600, directory_permissions_mode=0o700
    )


def make(folder: Path, say: Callable[[str], None]) -> Made:
    """Write a backup into a new or empty folder, while everything works.

    1. In one transaction: export its snapshot, note the end of every log, dump the database.
    2. Copy the files. A file is in its place before a row names it, so those of the dump are there.
    3. Write the manifest with every hash. Without it the folder is not a backup.

    Raises Conflict where the folder is not empty or pg_dump fails, ContentAway where files can't
    be read.
    """
    if folder.exists() and any(folder.iterdir()):
        raise Conflict(f"{folder} is not empty: a backup needs a folder of its own.")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    made = Made(at=datetime.now(UTC).isoformat(timespec="seconds"))
    begin = {"at": made.at, "gatepost": __version__, **_dump(folder, made, say)}
    manifest.write(folder, begin, _entries(folder, made, say))
    return made


def _dump(folder: Path, made: Made, say: Callable[[str], None]) -> dict[str, Any]:
    """Dump the database and anchor its logs as of one snapshot."""
    major = programs.server_major()
    pg_dump = programs.program("pg_dump", major=major)
    path = folder / DUMP
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
    began = time.monotonic()

    def progress() -> None:
        say(f"database: {size(path.stat().st_size)} after {time.monotonic() - began:.0f} s ...")

    with one_moment(), connection.cursor() as cursor:
        for limit in ("statement_timeout", "idle_in_transaction_session_timeout"):
            cursor.execute(f"SET LOCAL {limit} = 0")
        cursor.execute(
            "SELECT pg_export_snapshot(), pg_snapshot_xmax(pg_current_snapshot())::text::bigint"
        )
        snapshot, next_transaction = cursor.fetchone()
        made.threads = anchors.write(folder / ANCHOR).n_threads
        arguments = ["--format=custom", f"--snapshot={snapshot}", f"--file={path}"]
        programs.perform([pg_dump, *arguments, "--lock-wait-timeout=10s"], progress=progress)
    return {"postgres": major, "next_transaction": next_transaction}


def _entries(folder: Path, made: Made, say: Callable[[str], None]) -> Iterator[HashedFile]:
    """Copy the files, and yield every file of the backup."""
    for name in (ANCHOR, DUMP):
        entry = manifest.entry_of(folder, name)
        made.bytes += entry.bytes
        yield entry
    for tree, storage in trees().items():
        counts = Copied()
        for copied in copy_files(storage, folder_of(folder, tree), counts):
            made.files += 1
            made.bytes += copied.bytes
            if made.files % PROGRESS_FILES == 0:
                say(f"files: {made.files:,} so far ...")
            yield replace(copied, name=f"{tree}/{copied.name}")
        made.damaged += [f"{tree}/{name}" for name in counts.damaged]
