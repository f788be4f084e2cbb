"""Zip files that are given out while they are written, to where nothing can be sought.

Members are stored. The size and checksum of each follow its bytes, as 64-bit numbers: nobody knows
beforehand how large a member will be.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Iterator
from typing import IO, Final, cast

PIECE: Final = 256 * 1024


class ZipStream:
    """A zip file of stored members, one after the other; memory holds a piece of it.

    What has no end was cut off: only `end` writes the list of members that readers look for.
    """

    def __init__(self) -> None:
        self._sink = _Sink()
        self._packed = zipfile.ZipFile(cast(IO[bytes], self._sink), "w")

    def member(self, name: str, parts: Iterable[bytes]) -> Iterator[bytes]:
        """A member of these bytes, in pieces of PIECE; an empty part gives out what is there."""
        with self._packed.open(_info(name), "w", force_zip64=True) as into:
            yield self._sink.taken()
            for part in parts:
                into.write(part)
                if not part or self._sink.size >= PIECE:
                    yield self._sink.taken()
        yield self._sink.taken()

    def end(self) -> bytes:
        """The list of members; nothing comes after it."""
        self._packed.close()
        return self._sink.taken()


def _info(name: str) -> zipfile.ZipInfo:
    """No time and no owner: the same members give the same bytes."""
    info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    info.external_attr = 0o644 << 16
    info.create_system = 3
    return info


class _Sink:
    """A write-only target for a zip file that cannot be sought."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self.size = 0

    def write(self, data: bytes, /) -> int:
        """Take some bytes."""
        self._parts.append(bytes(data))
        self.size += len(data)
        return len(data)

    def flush(self) -> None:
        """Nothing is held back."""

    def taken(self) -> bytes:
        """Take the bytes written since the last call."""
        taken = b"".join(self._parts)
        self._parts.clear()
        self.size = 0
        return taken
