"""The folder that the file store keeps of each thread: its newest checkpoint, to be opened by hand.

    threads/<thread id>/checkpoint-000007/    an unpacked capsule of that one checkpoint
        state.json  state.yaml  thread.json  artifacts.jsonl  artifacts/<sha256>  MANIFEST ...
        files/<name>                          the same files under their names, on a disk of ours

It is made apart and gets its name whole (elsewhere MANIFEST comes last), and only then the former
one goes: at each moment there is one whole folder. It follows the commit; a worker that dies before
it is written leaves the former one, and `import` of a copy continues from there.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePath
from typing import Any
from uuid import UUID

from django.core.files.base import ContentFile
from django.core.files.storage import default_storage

from checkpoints import payloads, queries
from checkpoints.capsules import folder as folders
from checkpoints.capsules import layout
from checkpoints.payloads import disk
from checkpoints.views import ThreadRow
from dashboard.threads.capsules.exports import capsule_of

FILES = "files"
_APART = ".new-"


def keep(thread_id: UUID, workspace: UUID) -> None:
    """Write the folder of a thread's head, unless it is there; forget that of older ones."""
    thread = queries.thread(thread_id, workspace=workspace)
    point = queries.checkpoint(thread.id, thread.head)
    above = payloads.thread_folder(thread.id)
    name = folders.name_of(point.number)
    if not default_storage.exists(f"{above}/{name}/{layout.MANIFEST}"):
        capsule = capsule_of(thread, point)
        try:
            if disk.on_disk():
                _on_disk(Path(default_storage.path(above)), name, thread, capsule.writer)
            else:
                _elsewhere(f"{above}/{name}", capsule.writer)
        finally:
            capsule.close()
    _forget_older(above, point.number)


def _on_disk(above: Path, name: str, thread: ThreadRow, writer: layout.Writer) -> None:
    above.mkdir(parents=True, exist_ok=True)
    apart = Path(tempfile.mkdtemp(dir=above, prefix=_APART))
    try:
        for member, parts in _members(writer):
            _write(apart / member, parts)
        for sha in writer.files:
            _link(thread, sha, apart / layout.artifact_name(sha))
        _name_files(apart)
        for folder, _, _ in os.walk(apart):
            disk.flush_folder(Path(folder))
        apart.chmod(0o755)
        try:
            apart.rename(above / name)
        except OSError:
            # Somebody else was first; the same checkpoint is the same folder.
            if not (above / name / layout.MANIFEST).is_file():
                raise
        disk.flush_folder(above)
    finally:
        shutil.rmtree(apart, ignore_errors=True)


def _members(writer: layout.Writer) -> Iterator[tuple[str, Iterable[bytes]]]:
    """All but the files; MANIFEST last."""
    yield from writer.members()
    yield layout.MANIFEST, [writer.manifest]


def _write(path: Path, parts: Iterable[bytes]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        for part in parts:
            file.write(part)
        disk.flush(file)


def _link(thread: ThreadRow, sha: str, path: Path) -> None:
    """The bytes of a file a second time on the disk only where it cannot be otherwise."""
    row = queries.artifact(sha, workspace=thread.workspace)
    path.parent.mkdir(parents=True, exist_ok=True)
    source = Path(default_storage.path(row.path))
    try:
        os.link(source, path)
    except OSError:
        with source.open("rb") as file:
            _write(path, iter(lambda: file.read(layout.CHUNK), b""))


def _name_files(apart: Path) -> None:
    """The files once more under the names that people know."""
    for line in (apart / layout.FILES).read_text().splitlines():
        row = json.loads(line)
        name = PurePath(row["name"].replace("\\", "/")).name.lstrip(".") or row["sha256"]
        link = apart / FILES / name
        if link.exists():
            link = apart / FILES / f"{row['sha256'][:8]}-{name}"
        link.parent.mkdir(exist_ok=True)
        try:
            os.link(apart / layout.artifact_name(row["sha256"]), link)
        except OSError:
            continue  # too long a name, or a disk without links: the bytes are there by their hash


def _elsewhere(folder: str, writer: layout.Writer) -> None:
    for sha, opened in writer.files.items():
        with opened() as file:
            _save(f"{folder}/{layout.artifact_name(sha)}", file)
    for member, parts in _members(writer):
        _save(f"{folder}/{member}", ContentFile(b"".join(parts)))


def _save(path: str, file: Any) -> None:
    disk.replaced(path)
    default_storage.save(path, file)


def _forget_older(above: str, number: int) -> None:
    names, _ = default_storage.listdir(above)
    for name in names:
        older = folders.number_of(name)
        if older is not None and older < number:
            # Without it nobody takes the rest for whole.
            default_storage.delete(f"{above}/{name}/{layout.MANIFEST}")
            _delete(f"{above}/{name}")
        elif name.startswith(_APART) and disk.on_disk():
            _forget_left_behind(Path(default_storage.path(f"{above}/{name}")))


def _forget_left_behind(apart: Path) -> None:
    """Delete the unfinished folder that a killed process left."""
    try:
        if time.time() - apart.stat().st_mtime > disk.LEFT_BEHIND_SECONDS:
            shutil.rmtree(apart, ignore_errors=True)
    except FileNotFoundError:
        return


def _delete(folder: str) -> None:
    """A folder of the storage with all that is in it."""
    try:
        folders_in, files = default_storage.listdir(folder)
    except FileNotFoundError:
        return
    for name in files:
        default_storage.delete(f"{folder}/{name}")
    for name in folders_in:
        _delete(f"{folder}/{name}")
    default_storage.delete(folder)
