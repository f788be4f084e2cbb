"""Pictures that a page may show: what their first bytes say they are, and how large; pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

PIXELS_MAX: Final = 50_000_000
_FRAMES = frozenset(
    {*range(0xC0, 0xC4), *range(0xC5, 0xC8), *range(0xC9, 0xCC), *range(0xCD, 0xD0)}
)


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture as its bytes say: media type, width and height in pixels."""

    media_type: str
    width: int
    height: int

    @property
    def fits(self) -> bool:
        """Return whether a browser can draw it without harm."""
        return 0 < self.width * self.height <= PIXELS_MAX


def picture_in(head: bytes) -> Picture | None:
    """The picture that a file begins with; None where it is none of the four, or cut short."""
    for magic, media_type, size_of in _KINDS:
        if head.startswith(magic):
            size = size_of(head)
            return Picture(media_type, *size) if size else None
    return None


def _png(head: bytes) -> tuple[int, int] | None:
    if head[12:16] != b"IHDR" or len(head) < 24:
        return None
    return int.from_bytes(head[16:20]), int.from_bytes(head[20:24])


def _gif(head: bytes) -> tuple[int, int] | None:
    if head[4:6] not in (b"7a", b"9a") or len(head) < 10:
        return None
    return int.from_bytes(head[6:8], "little"), int.from_bytes(head[8:10], "little")


def _webp(head: bytes) -> tuple[int, int] | None:
    if head[8:12] != b"WEBP" or len(head) < 30:
        return None
    kind = head[12:16]
    if kind == b"VP8X":
        return 1 + int.from_bytes(head[24:27], "little"), 1 + int.from_bytes(head[27:30], "little")
    if kind == b"VP8L":
        bits = int.from_bytes(head[21:25], "little")
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    if kind == b"VP8 " and head[23:26] == b"\x9d\x01\x2a":
        low = int.from_bytes(head[26:28], "little"), int.from_bytes(head[28:30], "little")
        return low[0] & 0x3FFF, low[1] & 0x3FFF
    return None


def _jpeg(head: bytes) -> tuple[int, int] | None:
    at = 2
    while at + 9 <= len(head) and head[at] == 0xFF:
        marker = head[at + 1]
        if marker in _FRAMES:
            return int.from_bytes(head[at + 7 : at + 9]), int.from_bytes(head[at + 5 : at + 7])
        if marker == 0xFF:
            at += 1  # a fill byte
        else:
            at += 2 + int.from_bytes(head[at + 2 : at + 4])
    return None


_KINDS: Final[tuple[tuple[bytes, str, Callable[[bytes], tuple[int, int] | None]], ...]] = (
    (b"\x89PNG\r\n\x1a\n", "image/png", _png),
    (b"\xff\xd8\xff", "image/jpeg", _jpeg),
    (b"GIF8", "image/gif", _gif),
    (b"RIFF", "image/webp", _webp),
)
MEDIA_TYPES: Final = frozenset(media_type for _, media_type, _ in _KINDS)
