"""Lists of alike rows inside a proposal, as tables: what is paid, sent or deleted, line by line.

A tree shows one such row well and eighty badly. Nothing is left out or rounded in a table; what
does not fit on a page is counted, and the exact JSON has it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.safestring import SafeString

from dashboard.wording.text import visible

from .trees import scalar

ROWS_LEAST, ROWS_MAX, COLUMNS_MAX = 2, 300, 12
COLUMNS_NARROW = 4
NUMBER = re.compile(r"-?\d{1,3}(,?\d{3})*(\.\d+)?", re.ASCII)
EMPTY = "–"


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its name, and whether all it holds are numbers."""

    name: str
    numbers: bool


@dataclass(frozen=True, slots=True)
class Cell:
    """What one cell shows, as HTML, and the name of its column."""

    shown: SafeString | str
    number: bool
    label: str


@dataclass(frozen=True, slots=True)
class Rows:
    """A list as a table; `more` rows are not shown."""

    name: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    total: int
    more: int

    @property
    def stacks(self) -> bool:
        """Whether it has more columns than fit beside each other on a phone."""
        return len(self.columns) > COLUMNS_NARROW


def lists(value: Any) -> list[Rows]:
    """The lists right inside an object whose items are objects with the same few keys."""
    if not isinstance(value, Mapping):
        return []
    return [_rows(str(key), held) for key, held in value.items() if _alike(held)]


def _alike(held: Any) -> bool:
    if not isinstance(held, list) or len(held) < ROWS_LEAST:
        return False
    if not all(isinstance(item, Mapping) for item in held):
        return False
    keys = held[0].keys()
    return 1 < len(keys) <= COLUMNS_MAX and all(item.keys() == keys for item in held)


def _rows(name: str, held: list[Mapping[str, Any]]) -> Rows:
    columns = tuple(Column(str(key), all(_number(item[key]) for item in held)) for key in held[0])
    rows = tuple(
        tuple(Cell(_shown(item[column.name]), column.numbers, column.name) for column in columns)
        for item in held[:ROWS_MAX]
    )
    return Rows(name, columns, rows, len(held), len(held) - len(rows))


def _number(value: Any) -> bool:
    if isinstance(value, bool):
        return False
    return isinstance(value, int | float) or (
        isinstance(value, str) and bool(NUMBER.fullmatch(value))
    )


def _shown(value: Any) -> SafeString | str:
    if value is None or value == "":
        return EMPTY
    return visible(value) if isinstance(value, str) else SafeString(scalar(value))
