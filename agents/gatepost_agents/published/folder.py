"""The published folder: puts a report where others find it, and takes it away again.

One folder per report under that of its workspace, written aside and renamed into place with all its
files in one move. Its manifest holds the idempotency key, so the same key never publishes twice,
and undoing finds exactly what that key published.
"""

import errno
import hashlib
import json
import os
import re
import secrets
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from uuid import UUID

MANIFEST = "manifest.json"
SLUG = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,78}[a-z0-9])?")
FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
MOST_SUFFIXES = 10_000


def slug_of(title: str) -> str:
    """A folder name made from a title: small letters, digits and dashes; never empty."""
    plain = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:60].strip("-")
    return plain or "report"


def workspace_folder(root: Path, workspace: str) -> Path:
    """The folder of one workspace; the root itself for reports of before there were any.

    Raises ValueError for what is no id: it would lead elsewhere.
    """
    return root / str(UUID(workspace)) if workspace else root


def publish(folder: Path, slug: str, files: Mapping[str, bytes], *, key: str) -> dict[str, Any]:
    """Write `files` to `<folder>/<slug>/` in one move; with `key` published before, do nothing.

    A slug that another key holds gets the next free number (`<slug>-2`). Answers the same both
    times: {"slug", "files": [{"name", "size", "sha256"}]}. Raises ValueError for a slug or a file
    name that could leave the folder; OSError when the folder cannot be written.
    """
    _check(slug, files)
    folder.mkdir(parents=True, exist_ok=True)
    if result := published(folder, slug, key):
        return result
    manifest = {
        "key": key,
        "files": [
            {"name": name, "size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
            for name, content in sorted(files.items())
        ],
    }
    aside = folder / f".{slug}-{_mark(key)}-{secrets.token_hex(4)}.part"
    aside.mkdir()
    try:
        for name, content in files.items():
            _write(aside / name, content)
        _write(aside / MANIFEST, json.dumps(manifest, indent=1, sort_keys=True).encode())
        _flush_folder(aside)
        target = _moved(aside, folder, slug, key)
    except FileNotFoundError:
        # Another attempt with this key was faster, and has cleared this one away.
        if result := published(folder, slug, key):
            return result
        raise
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    _flush_folder(folder)
    _clear_attempts(folder, key)
    return _answer(target.name, manifest)


def unpublish(folder: Path, slug: str, *, key: str) -> dict[str, Any]:
    """Remove what `publish` wrote for `key`; doing it again, or after a stop half way, is safe.

    `slug` may be the wished one or the one that was given. A file whose content is no longer what
    was published belongs to anyone who changed it: it stays and is named. Answers
    {"slug", "removed": [name], "kept": [name]}; all empty when there is nothing of this key.
    """
    _check(slug, {})
    _clear_attempts(folder, key)
    base = re.sub(r"-\d+$", "", slug)
    folders = {target.name: target for name in (slug, base) for target in _folders_of(folder, name)}
    for target in folders.values():
        result = _manifest(target, key)
        if result is not None:
            return _remove(folder, target, result)
    return {"slug": slug, "removed": [], "kept": []}


def _remove(folder: Path, target: Path, manifest: Mapping[str, Any]) -> dict[str, Any]:
    removed, saved = [], []
    for file in manifest["files"]:
        path = target / file["name"]
        if path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() != file["sha256"]:
            saved.append(file["name"])
            continue
        path.unlink(missing_ok=True)
        removed.append(file["name"])
    # The manifest goes last: until then a repeated undo still finds its work.
    (target / MANIFEST).unlink(missing_ok=True)
    if not any(target.iterdir()):
        target.rmdir()
        _flush_folder(folder)
    return {"slug": target.name, "removed": removed, "kept": saved}


def _check(slug: str, files: Mapping[str, bytes]) -> None:
    if not SLUG.fullmatch(slug):
        raise ValueError(f"`{slug}` is not a folder name of small letters, digits and dashes.")
    for name in files:
        if not FILE_NAME.fullmatch(name) or name == MANIFEST:
            raise ValueError(f"`{name}` cannot be the name of a published file.")


def _mark(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()[:16]


def _folders_of(folder: Path, slug: str) -> Iterator[Path]:
    """The folders that this slug has, with and without a number."""
    if folder.is_dir():
        for target in sorted(folder.iterdir()):
            if re.fullmatch(re.escape(slug) + r"(-\d+)?", target.name) and target.is_dir():
                yield target


def _manifest(target: Path, key: str) -> dict[str, Any] | None:
    """The manifest in `target` if `key` wrote it."""
    try:
        payload = json.loads((target / MANIFEST).read_bytes())
    except (FileNotFoundError, ValueError):
        return None
    return payload if isinstance(payload, dict) and payload.get("key") == key else None


def _clear_attempts(folder: Path, key: str) -> None:
    """Remove what a killed attempt with this key left lying half written."""
    for left in folder.glob(f".*-{_mark(key)}-*.part"):
        shutil.rmtree(left, ignore_errors=True)


def published(folder: Path, slug: str, key: str) -> dict[str, Any] | None:
    """The answer to `key` where it has published already."""
    for target in _folders_of(folder, slug):
        if (result := _manifest(target, key)) is not None:
            return _answer(target.name, result)
    return None


def _moved(aside: Path, folder: Path, slug: str, key: str) -> Path:
    """Rename to the first free place; renaming onto a folder that holds files fails.

    A worker that was stopped and continues may find that another has published with its key
    meanwhile: that folder is the answer.
    """
    for number in range(1, MOST_SUFFIXES):
        target = folder / (slug if number == 1 else f"{slug}-{number}")
        try:
            aside.rename(target)
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
                raise
            if _manifest(target, key) is None:
                continue
        return target
    raise OSError(f"There are {MOST_SUFFIXES} reports called `{slug}` already.")


def _answer(slug: str, manifest: Mapping[str, Any]) -> dict[str, Any]:
    return {"slug": slug, "files": list(manifest["files"])}


def _write(path: Path, content: bytes) -> None:
    with path.open("xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _flush_folder(path: Path) -> None:
    """Make the names in a folder last through a power cut."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
