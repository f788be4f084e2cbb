"""What a model has said so far, on its way to the page: a hint with text, and no history."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

EVERY_SECONDS = 0.1
SHOWN_CHARACTERS = 4_000  # the newest
# Takes what is to be shown; the working call's own.
listener: ContextVar[Callable[[str], None] | None] = ContextVar("gatepost_stream", default=None)


class TokenStream:
    """Shows a growing text, ten times a second at most."""

    def __init__(self) -> None:
        self._show = listener.get()
        self._shown_at = 0.0
        self._newest = ""

    def grow(self, piece: str) -> None:
        """Take the next piece of the text; the end of the text so far is shown."""
        if self._show is None or not piece:
            return
        self._newest = (self._newest + piece)[-SHOWN_CHARACTERS:]
        now = time.monotonic()
        if now - self._shown_at >= EVERY_SECONDS:
            self._shown_at = now
            self._show(self._newest)


@contextmanager
def shown(show: Callable[[str], None]) -> Iterator[None]:
    """Let what a model says in here be shown; "" says that it has ended."""
    texts = 0

    def pass_on(text: str) -> None:
        nonlocal texts
        texts += 1
        show(text)

    token = listener.set(pass_on)
    try:
        yield
    finally:
        listener.reset(token)
        if texts:
            show("")
