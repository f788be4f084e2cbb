"""The files of a backup, and comparing them with what was written.

manifest.jsonl    what it is, one line per file with its hash, a signature; written last
database.dump     pg_dump's custom format
logs.anchor       the end of every log as of the dump
files/            the file storage
published/        published reports
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from hashlib import file_digest
from pathlib import Path
from typing import Any, Final

from dashboard.operate.file_copies import HashedFile
from dashboard.records.integrity import sealed_lines
from dashboard.records.integrity.anchors import KEY_HINT, anchor_key

FORM: Final = "gatepost-backup-1"
MANIFEST: Final = "manifest.jsonl"
DUMP: Final = "database.dump"
ANCHOR: Final = "logs.anchor"
FILES: Final = "files"
PUBLISHED: Final = "published"


def entry_of(folder: Path, name: str) -> HashedFile:
    """Read a file of the folder; raises OSError."""
    with (folder / name).open("rb") as file:
        digest = file_digest(file, "sha256").hexdigest()
        return HashedFile(name, digest, file.tell())


def write(folder: Path, begin: dict[str, Any], entries: Iterator[HashedFile]) -> str:
    """Write the manifest, which makes a whole backup of the folder; returns its signature."""
    lines = ({"name": e.name, "sha256": e.sha256, "bytes": e.bytes} for e in entries)
    return sealed_lines.write(folder / MANIFEST, anchor_key(), {"form": FORM, **begin}, lines)


def read(folder: Path, *, unsigned: bool = False) -> dict[str, Any]:
    """Return the first line of a manifest; raises Invalid where it is damaged or not ours."""
    return sealed_lines.check(
        folder / MANIFEST,
        None if unsigned else anchor_key(),
        form=FORM,
        option="FOLDER",
        what="a manifest of a backup",
        hint=f"{KEY_HINT}. --unsigned restores without it",
    )


def entries(folder: Path) -> Iterator[HashedFile]:
    """The files of a backup whose manifest was read."""
    for line in sealed_lines.between(folder / MANIFEST):
        yield HashedFile(line["name"], line["sha256"], line["bytes"])


def damage(folder: Path, progress: Callable[[HashedFile], None]) -> Iterator[str]:
    """Read every file; one sentence for each that is missing, cut off or altered."""
    for noted in entries(folder):
        try:
            present = entry_of(folder, noted.name)
        except FileNotFoundError:
            yield f"{noted.name} is missing."
        except OSError as error:
            yield f"{noted.name} cannot be read: {error.strerror}."
        else:
            if present.bytes < noted.bytes:
                yield f"{noted.name} is cut off: {present.bytes:,} of {noted.bytes:,} bytes."
            elif present != noted:
                yield f"{noted.name} was altered."
        progress(noted)
