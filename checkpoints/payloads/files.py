"""Contents as files of any Django storage, one folder per thread.

    threads/<thread id>/contents/<sha256>.json

Beside them stands the newest state in full, see `dashboard.threads.capsules.folders`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from uuid import UUID

from django.core.files.storage import default_storage

from ..errors import ContentAway
from ..payload_kinds import FILE, LIMITS
from .disk import on_disk, overwrites, replaced, store_file

FOLDER = "threads"


def thread_folder(thread: UUID) -> str:
    """The folder of a thread, as a path in the storage."""
    return f"{FOLDER}/{thread}"


def content_path(thread: UUID, sha: str) -> str:
    """The path of one of a thread's contents."""
    return f"{thread_folder(thread)}/contents/{sha}.json"


@dataclass(frozen=True, slots=True)
class FilePayloads:
    """For large states, to be opened with any tool."""

    limit: int = LIMITS[FILE]

    def put(self, thread: UUID, contents: Mapping[str, bytes]) -> Mapping[str, bytes]:
        """In their place before the row is: nothing is left to be written with it.

        What is damaged there is written anew, or the next reader would be taken back once more.
        """
        for sha, raw in contents.items():
            path = content_path(thread, sha)
            # Sending it again costs a bucket less than being read.
            if overwrites() or not _whole(path, raw):
                if not on_disk():
                    replaced(path)
                store_file([raw], lambda _, path=path: path)  # type: ignore[misc]
        return {}

    def get(self, threads: Sequence[UUID], hashes: Collection[str]) -> dict[str, bytes]:
        """The first of the threads that has one is asked; what is altered there is answered so.

        A file that is not there is missing; any other failure is ContentAway, since a history is
        not corrupt because a drive does not answer.
        """
        results: dict[str, bytes] = {}
        for sha in hashes:
            for thread in threads:
                raw = _read(content_path(thread, sha))
                if raw is not None:
                    results[sha] = raw
                    if sha256(raw).hexdigest() == sha:
                        break
        return results

    def stored(self, threads: Sequence[UUID], hashes: Collection[str]) -> set[str]:
        """Those of the contents that one of the threads has a file of; none is read."""
        return {
            sha
            for sha in hashes
            if any(default_storage.exists(content_path(thread, sha)) for thread in threads)
        }

    def there(self, threads: Sequence[UUID]) -> bool:
        """Answer True if the storage has a folder of any of these threads."""
        return any(_is_there(thread_folder(thread)) for thread in threads)

    def held(self, thread: UUID) -> tuple[int, int] | None:
        """(files, bytes) of a thread's contents; None where the storage does not answer."""
        folder = f"{thread_folder(thread)}/contents"
        try:
            sizes = _sizes_in(folder)
            return len(sizes), sum(sizes.values())
        except FileNotFoundError:
            return 0, 0
        except OSError:
            return None


def _sizes_in(folder: str) -> dict[str, int]:
    """Names and sizes of the files in a folder; a bucket's list has both."""
    if (listed := getattr(default_storage, "sizes_in", None)) is not None:
        result: dict[str, int] = listed(folder)
        return result
    _, names = default_storage.listdir(folder)
    return {name: default_storage.size(f"{folder}/{name}") for name in names}


def _whole(path: str, raw: bytes) -> bool:
    """Answer True if exactly these bytes are stored; an unreadable file is written again."""
    try:
        return default_storage.size(path) == len(raw) and _read(path) == raw
    except (OSError, ContentAway):
        return False


def _is_there(folder: str) -> bool:
    try:
        return any(default_storage.listdir(folder))
    except OSError:
        return False


def _read(path: str) -> bytes | None:
    try:
        with default_storage.open(path, "rb") as file:
            raw: bytes = file.read()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ContentAway(f"{path}: {error.strerror}.") from error
    return raw
