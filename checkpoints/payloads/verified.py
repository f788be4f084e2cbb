"""The bytes of an artifact, proved in the same read: nobody works with others than were stored."""

from __future__ import annotations

import io
import shutil
from hashlib import sha256
from pathlib import Path
from typing import IO, Any

from django.core.files.storage import default_storage

from ..errors import ContentAway, CorruptHistory
from ..views import ArtifactRow

BLOCK = 256 * 1024


def opened(row: ArtifactRow) -> io.BufferedReader:
    """The file as a stream that raises CorruptHistory rather than give the last byte of another.

    Who leaps ahead in it lets it be read through before. Raises CorruptHistory where the bytes are
    gone or have another size, ContentAway where the storage does not answer.
    """
    try:
        if default_storage.size(row.path) != row.size:
            raise _altered(row)
        file = default_storage.open(row.path, "rb")
    except OSError as error:
        raise _unread(row, error) from error
    return io.BufferedReader(_Proven(file, row), BLOCK)


def copied(row: ArtifactRow, folder: Path) -> Path:
    """The file whole and proved, under its hash in a folder of this machine; raises as `opened`."""
    path = folder / row.sha256
    if not path.exists():
        unproved = path.with_suffix(".part")
        with opened(row) as file, unproved.open("wb") as copy:
            shutil.copyfileobj(file, copy, BLOCK)
        unproved.rename(path)
    return path


def prove(row: ArtifactRow) -> None:
    """Read a file through; raises as `opened`, and where it does not match its hash."""
    with opened(row) as file:
        while file.read(BLOCK):
            pass


def _unread(row: ArtifactRow, error: OSError) -> CorruptHistory | ContentAway:
    if isinstance(error, FileNotFoundError):
        return CorruptHistory(
            f"The bytes of the file {row.name!r} ({row.sha256[:12]}) are gone from the storage."
        )
    return ContentAway(f"The storage gives no file: {error.strerror or type(error).__name__}.")


def _altered(row: ArtifactRow) -> CorruptHistory:
    return CorruptHistory(
        f"The bytes of the file {row.name!r} ({row.sha256[:12]}) do not match their hash: they "
        f"were "
        "altered in the storage."
    )


class _Proven(io.RawIOBase):
    """Hashes what passes; at each moment the bytes before a certain place are in the digest."""

    def __init__(self, file: IO[bytes] | Any, row: ArtifactRow) -> None:
        self._file = file
        self._row = row
        self._digest = sha256()
        self._hashed = 0
        self._at = self._file_at = 0  # as asked for, and where the file is

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._row.size}[whence]
        self._at = max(0, start + offset)
        return self._at

    def readinto(self, into: Any) -> int:
        if self._at > self._hashed:
            wished, self._at = self._at, self._hashed
            while self._hashed < self._row.size:
                self._pass(BLOCK)
            self._at = wished
        result = self._pass(len(into))
        into[: len(result)] = result
        return len(result)

    def _pass(self, most: int) -> bytes:
        """The next bytes, hashed where they were not yet; the last ones only if all fit."""
        try:
            if self._file_at != self._at:
                self._file.seek(self._at)
            text: bytes = self._file.read(most)
        except OSError as error:
            raise _unread(self._row, error) from error
        new = text[self._hashed - self._at :] if self._at <= self._hashed else b""
        self._at += len(text)
        self._file_at = self._at
        self._digest.update(new)
        self._hashed += len(new)
        ended = not text or self._hashed >= self._row.size
        if ended and (self._hashed, self._digest.hexdigest()) != (self._row.size, self._row.sha256):
            raise _altered(self._row)
        return text

    def close(self) -> None:
        self._file.close()
        super().close()
