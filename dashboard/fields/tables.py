"""A list of objects as a table of inputs: `t-ROW-COLUMN-<channel>`, `d-ROW-<channel>` removes.

Cells are read by the same rule as other inputs: one that nobody touched keeps its value exactly,
and a row keeps the members that the table does not show. Some empty rows take new objects.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from checkpoints.state.list_keys import resolve

from .inputs import (
    ABSENT,
    UNANSWERED,
    Member,
    Omitted,
    Posted,
    Unreadable,
    judge,
    member,
    one_line,
)
from .shapes import Cell, Option, TableRow

MARK: Final = "rows"  # what `f-<channel>` holds where its cells count; else it is the JSON
NEW_ROWS: Final = 2
ROWS_MAX: Final = 200
COLUMNS_MAX: Final = 10
_INPUTS: Final = ("text", "integer", "number", "bool", "date", "select")


def columns_of(one: Member) -> list[str]:
    """The names of the columns, in the author's order; none where the list is no such table."""
    if one.kind != "json" or not isinstance(one.opened, list) or not one.opened:
        return []
    items = _items(one)
    names = list(items.get("properties") or ())
    order = {name: i for i, name in enumerate(items.get("x-order") or ())}
    names.sort(key=lambda name: order.get(name, len(order)))
    is_small = 0 < len(names) <= COLUMNS_MAX and len(one.opened) <= ROWS_MAX
    if not is_small or not all(isinstance(row, Mapping) for row in one.opened):
        return []
    fits = all(_cell(one, items, row, name) for row in one.opened for name in names)
    return names if fits else []


def rows_of(one: Member, columns: list[str], posted: Mapping[str, str]) -> tuple[TableRow, ...]:
    """The rows with what was posted of them, and some empty ones."""
    items = _items(one)
    rows = []
    for number, row in enumerate([*one.opened, *[{}] * NEW_ROWS]):
        cells = []
        for index, name in enumerate(columns):
            cell = _cell(one, items, row, name)
            if cell is None:
                continue
            key = f"t-{number}-{index}-{one.name}"
            options = tuple(map(Option, cell.options, cell.labels))
            if options and (cell.readings or not cell.text or number >= len(one.opened)):
                options = (Option("", "–"), *options)
            value = posted.get(key, cell.text)
            cells.append(Cell(key, cell.kind, value, f"{cell.label}, row {number + 1}", options))
        remove = f"d-{number}-{one.name}" if number < len(one.opened) else ""
        rows.append(TableRow(number + 1, tuple(cells), remove, remove in posted))
    return tuple(rows)


def names_of(one: Member, columns: list[str]) -> list[str]:
    """The names of all inputs of the table."""
    count = len(one.opened) + NEW_ROWS
    cells = [f"t-{n}-{index}-{one.name}" for n in range(count) for index in range(len(columns))]
    return [*cells, *(f"d-{n}-{one.name}" for n in range(count))]


def read_rows(one: Member, columns: list[str], posted: Mapping[str, str]) -> Any:
    """The list that was meant, the opened one itself where nothing was touched."""
    items, rows, is_changed = _items(one), [], False
    for number, row in enumerate([*one.opened, *[{}] * NEW_ROWS]):
        is_new = number >= len(one.opened)
        texts = [posted.get(f"t-{number}-{index}-{one.name}") for index in range(len(columns))]
        if f"d-{number}-{one.name}" in posted or (is_new and not any(texts)):
            is_changed |= not is_new
            continue
        new = dict(row)
        for name, text in zip(columns, texts, strict=True):
            cell = _cell(one, items, row, name)
            if text is None or cell is None:
                continue
            value = _read(cell, text, number)
            if value is not cell.opened:
                is_changed = True
                new.pop(name, None)
                new |= {} if isinstance(value, Omitted) else {name: value}
        # What changed stands where it stood.
        order = [*row, *(name for name in new if name not in row)]
        rows.append({name: new[name] for name in order if name in new})
    if not is_changed:
        return one.opened
    judge(rows, one.raw, one.root)
    return rows


def _read(cell: Member, text: str, number: int) -> Any:
    is_open = cell.opened is not ABSENT and cell.opened_reading == UNANSWERED
    try:
        if is_open and cell.is_empty(text) and cell.is_empty(cell.text):
            return cell.opened
        return cell.read(Posted(text))
    except Unreadable as error:
        raise Unreadable(f"Row {number + 1}, {cell.label}: {error}") from None


def _items(one: Member) -> Mapping[str, Any]:
    """The schema of an item, with the definitions that its references look at."""
    items = one.part.get("items")
    if one.part.get("type") != "array" or not isinstance(items, Mapping):
        return {}
    part, _ = resolve(items, one.root)
    return {**part, "$defs": one.root.get("$defs", {})}


def _cell(
    one: Member, items: Mapping[str, Any], row: Mapping[str, Any], name: str
) -> Member | None:
    """The input of a cell; None where its value does not fit on a line."""
    raw = items["properties"][name]
    cell = member(name, raw, items, row.get(name, ABSENT), omittable=True)
    if cell.kind in ("textarea", "datetime") and one_line(cell.opened):
        cell = replace(cell, kind="text")
    return cell if cell.kind in _INPUTS and not cell.encrypted else None
