"""What an author gets of a page that an agent read, and why one was not read."""

from __future__ import annotations

from dataclasses import dataclass

from checkpoints.errors import GatepostError


@dataclass(frozen=True, slots=True)
class WebPage:
    """A page as it was read: `url` as asked for, `address` after redirects, `at` the time (UTC).

    `text` is what a reader sees of it, `sha256` that of the bytes that came.
    """

    url: str
    address: str
    title: str
    text: str
    media_type: str
    sha256: str
    size: int
    at: str


class WebRefused(GatepostError):
    """A page was not read; the message says why. `is_off`: no policy lets this agent read it."""

    def __init__(self, message: str, *, is_off: bool = False) -> None:
        super().__init__(message)
        self.is_off = is_off
