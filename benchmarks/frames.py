"""Read the messages of a socket as a page does: plain ones and deflated ones."""

from __future__ import annotations

import json
import zlib
from typing import Any

WINDOW = 32_768  # bytes that DEFLATE can refer to


class Messages:
    """The messages of one socket in their order; deflated ones refer to HTML of those before."""

    def __init__(self) -> None:
        self._sent: dict[tuple[str, str], str] = {}

    def read(self, data: str | bytes) -> dict[str, Any]:
        """One message."""
        line, _, rest = data.partition(b"\n") if isinstance(data, bytes) else (data, b"", b"")
        message: dict[str, Any] = json.loads(line)
        if message["type"] == "frame":
            topic = message["topic"]
            if rest:
                message["regions"] = self._inflated(topic, message["parts"], rest)
            self._sent |= {(topic, region): html for region, html in message["regions"].items()}
        return message

    def _inflated(self, topic: str, parts: dict[str, int], stream: bytes) -> dict[str, str]:
        regions, window, at = {}, b"", 0
        for region, size in parts.items():
            window += (self._sent[topic, region] if size > 0 else "").encode() + b"\0"
            inflate = zlib.decompressobj(-zlib.MAX_WBITS, zdict=window[-WINDOW:])
            text = inflate.decompress(stream[at : at + abs(size)])
            window, at = window + text, at + abs(size)
            regions[region] = text.removesuffix(b"\0").decode()
        return regions
