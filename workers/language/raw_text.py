"""The beginning and the end of what a server sent, for the record of an answer."""

from __future__ import annotations

HEAD_BYTES, TAIL_BYTES = 12_000, 4_000


class RawText:
    """Takes bytes of any length and keeps the first and the last of them."""

    def __init__(self, head: int = HEAD_BYTES) -> None:
        self.size = 0
        self._head, self._tail, self._most = bytearray(), b"", head

    def add(self, chunk: bytes) -> None:
        """Take the next bytes."""
        self.size += len(chunk)
        room = self._most - len(self._head)
        self._head += chunk[:room]
        if rest := chunk[room:]:
            self._tail = (self._tail + rest[-TAIL_BYTES:])[-TAIL_BYTES:]

    @property
    def text(self) -> str:
        """The kept text, with a mark where bytes are left out."""
        head = self._head.decode("utf-8", "replace")
        left_out = self.size - len(self._head) - len(self._tail)
        mark = f"\n[{left_out:,} bytes left out]\n" if left_out else ""
        return head + mark + self._tail.decode("utf-8", "replace")
