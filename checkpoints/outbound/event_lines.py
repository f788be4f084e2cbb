"""Lines of server-sent events: they end at CR, LF or CRLF, and at no other line end of Unicode."""

from __future__ import annotations

import re

_ENDS = re.compile(rb"\r\n|\r|\n")


class LongLine(Exception):
    """A line has more bytes than it may have."""


class EventLines:
    """Cuts the chunks of a body into lines in linear time; what is no UTF-8 becomes U+FFFD."""

    def __init__(self, longest: int) -> None:
        self._longest = longest
        self._open: list[bytes] = []
        self._size = 0
        self._after_cr = False
        self._is_first = True

    def feed(self, chunk: bytes) -> list[str]:
        """The lines that end in this chunk; LongLine."""
        part = chunk[1:] if self._after_cr and chunk.startswith(b"\n") else chunk
        self._after_cr = chunk.endswith(b"\r") if chunk else self._after_cr
        result = []
        first, *more = _ENDS.split(part)
        self._add(first)
        for line in more:
            result.append(self.rest())
            self._add(line)
        return result

    def _add(self, part: bytes) -> None:
        self._open.append(part)
        self._size += len(part)
        if self._size > self._longest:
            raise LongLine

    def rest(self) -> str:
        """The line that has not ended; it is taken."""
        text = b"".join(self._open).decode("utf-8", "replace")
        self._open, self._size = [], 0
        if self._is_first:
            text, self._is_first = text.removeprefix("\ufeff"), False
        return text
