"""A state that is folded from stored deltas while they arrive, in the order of their numbers; pure.

Most deltas of a long thread append to one and the same channel. Of those only the items are read,
as one list: the objects around them cost more to make than the items.
"""

from __future__ import annotations

from typing import Any

from ..errors import InvalidValue
from .deltas import replay
from .stored import decode_stored
from .values import at

# What closes a delta that appends to one channel, after its items.
_CLOSED = len(b"]}}")


class Replay:
    """The state so far, and how many deltas of how many bytes were added."""

    def __init__(self, state: dict[str, Any]) -> None:
        self.state = state
        self.rows = self.size = 0
        self._opened = b""  # how a delta begins that appends to one channel only, up to its items
        self._channel = ""

    def add(self, block: bytes, rows: int) -> None:
        """Apply stored deltas, each JSON on a line of its own; InvalidValue where that fails."""
        self.rows += rows
        self.size += len(block)
        if self._appended(block):
            return
        first = block[: block.find(b"\n")] if rows > 1 else block
        if self._learned(first) and self._appended(block):
            return
        replay(self.state, decode_stored(b"[%b]" % block.replace(b"\n", b",")))
        self._learned(block[block.rfind(b"\n") + 1 :])

    def _learned(self, body: bytes) -> bool:
        """Whether this delta appends to one channel, and others may begin like it."""
        self._opened = b""
        if body.startswith(b'{"append"'):
            delta = decode_stored(body)
            appends = delta["append"]
            channels = list(appends) if len(delta) == 1 and isinstance(appends, dict) else []
            # With one in its name the first bracket would not be that of the items.
            if len(channels) == 1 and "[" not in channels[0] and b"[" in body:
                self._channel = channels[0]
                self._opened = body[: body.index(b"[") + 1]
        return bool(self._opened)

    def _appended(self, block: bytes) -> bool:
        """Append the items of all these deltas at once, if that is all they do.

        JSON as it is stored has no line breaks: one is found between two deltas and nowhere else.
        Each delta is JSON. So where the insides of all make one list, none of them has closed its
        own before its last three bytes, and these can then only close list and delta.
        """
        opened = self._opened
        if not opened or not block.startswith(opened):
            return False
        # Views into the block: a copy of each delta would cost more than reading it.
        view, find, begins = memoryview(block), block.find, block.startswith
        inside: list[memoryview] = []
        begin = skipped = len(opened)
        while (end := find(b"\n", begin)) >= 0:
            inside.append(view[begin : end - _CLOSED])
            begin = end + 1
            if not begins(opened, begin):
                return False
            begin += skipped
        inside.append(view[begin:-_CLOSED])
        try:
            items = decode_stored(b"[%b]" % b",".join(inside))
        except InvalidValue:
            return False
        try:
            self.state.setdefault(self._channel, []).extend(items)
        except (AttributeError, TypeError) as error:
            told = f"a stored delta cannot be applied ({error})"
            raise InvalidValue(at("$", self._channel), told) from error
        return True
