"""Lists of alike rows inside a proposal, as tables: what is paid, sent or deleted, line by line.

A tree shows one such row well and eighty badly. Nothing is left out or rounded in a table; what
does not fit on a page is counted, and the exact JSON has it. Amounts and counts have separators of
thousands; their digits stay. Rows stand in the order of the list, or of one column if asked for.
Where there are MANY rows some may lack keys that others have, and the list may lie deeper, or be an
object whose keys name the rows: its keys are the first column.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import reduce
from typing import Any

from django.utils.html import format_html
from django.utils.safestring import SafeString

from approvals.rules.receipts.leaves import under
from dashboard.html.list_pairs import text_of
from dashboard.html.trees import scalar
from dashboard.wording.amounts import grouped
from dashboard.wording.text import visible

from .receipt_marks import Known, mark, row_mark

ROWS_LEAST, ROWS_MAX, COLUMNS_MAX = 2, 300, 12
COLUMNS_NARROW = 4
STACKED_MAX = 30
MANY = 9
# How the column of the keys of an object is called: the first that no row has.
KEY_COLUMNS = ("key", "its key", *(f"key {n}" for n in range(COLUMNS_MAX + 1)))
NUMBER = re.compile(r"-?\d{1,3}(,?\d{3})*(\.\d+)?", re.ASCII)
EMPTY = "–"


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its name, whether all it holds are numbers, and how its table is sorted by it.

    `order` is what its heading asks for; `aria_sort` is empty unless the table is sorted by it.
    """

    name: str
    numbers: bool
    order: str = ""
    aria_sort: str = ""


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell as HTML, and the name of its column."""

    shown: SafeString | str
    number: bool
    label: str


@dataclass(frozen=True, slots=True)
class Row:
    """A row: its cells, and as HTML where its values come from; empty where that is not known."""

    cells: tuple[Cell, ...]
    mark: SafeString | str = ""
    css: str = ""  # of the cell of the mark


@dataclass(frozen=True, slots=True)
class Rows:
    """A list as a table; `more` rows are not shown. `of` is the identity of the list.

    `source` is the recorded call that most rows come from, and `url` the page that shows it; both
    are empty where receipts are not known. `marked` says whether rows have marks.
    """

    name: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    total: int
    more: int
    of: int
    source: str = ""
    url: str = ""

    @property
    def marked(self) -> bool:
        """Return whether any row says where its values come from."""
        return any(row.mark for row in self.rows)

    @property
    def stacks(self) -> bool:
        """Return whether its rows are blocks on a phone: many columns, and not too many rows."""
        return len(self.columns) > COLUMNS_NARROW and self.total <= STACKED_MAX


def lists(value: Any, receipts: Iterable[Known] = (), order: str = "") -> list[Rows]:
    """The lists in an object whose items are objects with the same few keys.

    `receipts` say where the values come from. `order` names a column to sort by, with "-" in front
    the largest first; a list without it stays as it is.
    """
    if not isinstance(value, Mapping):
        return []
    known = {one.path: one for one in receipts}
    return [_rows(keys, held, known, order) for keys, held in _tabled((), value)]


def _tabled(
    keys: tuple[str, ...], value: Mapping[str, Any]
) -> Iterator[tuple[tuple[str, ...], list[Any] | Mapping[str, Any]]]:
    """(keys that lead to it, list or object) of each one that is a table."""
    for key, held in value.items():
        here = (*keys, str(key))
        if isinstance(held, Mapping):
            if len(held) >= MANY and _alike(list(held.values())):
                yield here, held
            else:
                yield from _tabled(here, held)
        elif isinstance(held, list) and (not keys or len(held) >= MANY) and _alike(held):
            yield here, held


def _alike(held: list[Any]) -> bool:
    if len(held) < ROWS_LEAST or not all(isinstance(item, Mapping) for item in held):
        return False
    names = _names(held)
    cells = sum(map(len, held))
    whole = cells == len(held) * len(names)
    return 1 < len(names) <= COLUMNS_MAX and (
        whole or (len(held) >= MANY and 2 * cells > len(held) * len(names))
    )


def _names(held: Sequence[Mapping[str, Any]]) -> list[str]:
    """The keys of all rows, in the order in which they come."""
    return list(dict.fromkeys(key for item in held for key in item))


def _rows(
    keys: Sequence[str],
    table: list[Any] | Mapping[str, Any],
    known: Mapping[str, Known],
    order: str,
) -> Rows:
    held, paths = _items(table)
    columns = tuple(_column(str(name), held, order) for name in _names(held))
    places = _sorted(held, columns, order)[:ROWS_MAX]
    shown = [held[n] for n in places]
    path = reduce(under, keys, "$")
    by_row = [_receipts(held[n], under(path, paths[n]), known) for n in places]
    most = _most(by_row)
    url = most.url if most else ""
    rows = tuple(_row(columns, item, here, url) for item, here in zip(shown, by_row, strict=True))
    source = most.source.partition(",")[0] if most else ""
    more = len(held) - len(rows)
    return Rows(".".join(keys), columns, rows, len(held), more, id(table), source, url)


def _items(
    table: list[Any] | Mapping[str, Any],
) -> tuple[list[Mapping[str, Any]], Sequence[int | str]]:
    """The rows of a table and the key of each; in an object the first column has it."""
    if isinstance(table, list):
        return table, range(len(table))
    names = _names(list(table.values()))
    column = next(name for name in KEY_COLUMNS if name not in names)
    return [{column: str(key), **item} for key, item in table.items()], list(table)


def _column(name: str, held: Sequence[Mapping[str, Any]], order: str) -> Column:
    numbers = all(_number(item[name]) for item in held if name in item)
    if order == name:
        return Column(name, numbers, f"-{name}", "ascending")
    return Column(name, numbers, name, "descending" if order == f"-{name}" else "")


def _sorted(
    held: Sequence[Mapping[str, Any]], columns: Sequence[Column], order: str
) -> Sequence[int]:
    """The places of the items in the order that is asked for; equal ones stay as they are.

    Those without a value in that column come last.
    """
    column = next((one for one in columns if one.aria_sort), None)
    if column is None:
        return range(len(held))
    keys: dict[int, Any] = {}
    for index, item in enumerate(held):
        if column.name in item:
            value = item[column.name]
            if column.numbers:
                keys[index] = Decimal(str(value).replace(",", ""))
            else:
                keys[index] = (value if isinstance(value, str) else text_of(value)).casefold()
    ranked = sorted(keys, key=keys.__getitem__, reverse=order.startswith("-"))
    return [*ranked, *(index for index in range(len(held)) if index not in keys)]


def _receipts(item: Mapping[str, Any], path: str, known: Mapping[str, Known]) -> dict[str, Known]:
    """{column: receipt} of the single values of a row."""
    paths = {str(key): under(path, key) for key in item}
    return {key: known[here] for key, here in paths.items() if here in known}


def _most(by_row: Sequence[Mapping[str, Known]]) -> Known | None:
    """A receipt of the page that most rows lead to."""
    first = [one for row in by_row for one in row.values() if one.origin == "recorded"]
    counts = Counter(one.url for one in first)
    ranked = counts.most_common(1)
    return next((one for one in first if ranked and one.url == ranked[0][0]), None)


def _row(
    columns: Sequence[Column], item: Mapping[str, Any], here: Mapping[str, Known], url: str
) -> Row:
    """A row; what comes from elsewhere than its other values says so beside the value."""
    shared = row_mark(list(here.values()), url)
    cells = []
    for column in columns:
        shown = _shown(item[column.name], column.name) if column.name in item else ""
        receipt = here.get(column.name)
        if receipt is not None and receipt.origin != shared.origin:
            shown = format_html("{} {}", shown, mark(receipt))
        cells.append(Cell(shown, column.numbers, column.name))
    return Row(tuple(cells), shared.shown, shared.css)


def _number(value: Any) -> bool:
    if isinstance(value, bool):
        return False
    return isinstance(value, int | float) or (
        isinstance(value, str) and bool(NUMBER.fullmatch(value))
    )


def _shown(value: Any, name: str) -> SafeString | str:
    if value is None or value == "":
        return EMPTY
    if (text := grouped(value, name)) != str(value):
        return text
    return visible(value) if isinstance(value, str) else SafeString(scalar(value))
