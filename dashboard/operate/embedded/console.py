"""Terminal output of `up`: one line per part with a tick and seconds, then a table."""

import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TextIO

_WIDTH = 40


class Console:
    """Writes to one stream; colours and overwritten lines only on a terminal without NO_COLOR."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self.stream = stream or sys.stdout
        self.terminal = self.stream.isatty()
        self.coloured = self.terminal and not os.environ.get("NO_COLOR")
        encoding = (self.stream.encoding or "ascii").lower()
        self.tick, self.cross = ("✓", "✗") if encoding.startswith("utf") else ("ok", "--")

    def _paint(self, text: str, code: str) -> str:
        return f"\033[{code}m{text}\033[0m" if self.coloured else text

    def say(self, text: str = "") -> None:
        """One plain line."""
        try:
            print(text, file=self.stream, flush=True)
        except (BrokenPipeError, OSError):
            pass  # nobody reads any more; the parts work on

    def complain(self, sentence: str) -> None:
        """One sentence about what went wrong."""
        self.say(f"  {self._paint(self.cross, '31')} {sentence}")

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Show that a part is starting, and when it is there, how long it took."""
        started = time.monotonic()
        if self.terminal:
            self.stream.write(f"  … {name}")
            self.stream.flush()
        try:
            yield
        except BaseException:
            if self.terminal:
                self.stream.write("\r\033[K")
                self.stream.flush()
            raise
        if self.terminal:
            self.stream.write("\r\033[K")
        seconds = f"{time.monotonic() - started:5.1f} s"
        self.say(f"  {self._paint(self.tick, '32')} {name:<{_WIDTH}}{self._paint(seconds, '2')}")

    def table(self, rows: Sequence[tuple[str, str]]) -> None:
        """Aligned pairs."""
        width = max(len(label) for label, _ in rows)
        for label, value in rows:
            self.say(f"  {self._paint(label.ljust(width), '1')}   {value}")
