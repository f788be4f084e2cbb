"""Tables of a terminal: aligned and folded for eyes, tab-separated for pipes.

Cells are text from anywhere; nothing in them can steer a terminal or break a line.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from dashboard.wording.sentences import LOOKS
from dashboard.wording.text import plain

UNBROKEN = ("thread", "approval", "level")
# How the tones of the pages look in a terminal.
TONES = {
    "t-stuck": "bold red",
    "t-fail": "red",
    "t-wait": "yellow",
    "t-run": "cyan",
    "t-done": "green",
    "t-idle": "",
}
LEVELS = {
    "ok": "green",
    "note": "cyan",
    "warning": "yellow",
    "wrong": "bold red",
    "error": "bold red",
}


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of text under names; where a column has none, the first cell of the row names it."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    headed: bool = True

    def separated(self) -> str:
        """One line per row, cells separated by tabs, no title and no names."""
        lines = ("\t".join(" ".join(cell.split()) for cell in row) for row in self.rows)
        return "".join(f"{line}\n" for line in lines)

    def draw(self, stream: Any) -> None:
        """Draw it on a terminal, as wide as that is; NO_COLOR is honoured."""
        from rich.console import Console
        from rich.table import Table as Drawn
        from rich.text import Text

        drawn = Drawn(
            title=Text(self.title, style="bold") if self.title else None,
            title_justify="left",
            box=None,
            pad_edge=False,
            show_header=self.headed,
            header_style="bold",
        )
        for column in self.columns:
            # An id that breaks over two lines cannot be copied.
            drawn.add_column(column, overflow="fold", no_wrap=column in UNBROKEN)
        for row in self.rows:
            cells = ((name or row[0], cell) for name, cell in zip(self.columns, row, strict=True))
            drawn.add_row(*(Text(cell, style=_style(name, cell)) for name, cell in cells))
        console = Console(file=stream, highlight=False, markup=False, emoji=False)
        console.print(drawn)


def table(
    title: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    headed: bool = True,
) -> Table:
    """A table with named columns; the names are drawn where it is `headed`."""
    shown = (tuple(plain("" if cell is None else cell) for cell in row) for row in rows)
    return Table(plain(title), tuple(columns), tuple(shown), headed)


def facts(title: str, pairs: Iterable[tuple[str, object]]) -> Table:
    """A table of names and values."""
    return table(title, ("", ""), pairs, headed=False)


def _style(name: str, cell: str) -> str:
    if name == "status" and cell in LOOKS:
        return TONES[LOOKS[cell].tone]
    return LEVELS.get(cell, "") if name == "level" else ""
