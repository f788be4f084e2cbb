"""Values that are sums or numbers of others: of the proposal's lines, or of a recorded column."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from math import fsum
from typing import Any, Final

from .leaves import Leaf, beside, number_of, under
from .needles import Needle
from .numbers import is_strong
from .records import Column
from .units import agree, tokens

COUNT_WORDS: Final = frozenset({"count", "number", "n", "lines", "items", "quantity", "total"})


@dataclass(frozen=True, slots=True)
class Lines:
    """A column of the proposal's own lines: the paths of its cells, their sum and their units."""

    paths: tuple[str, ...]
    total: Decimal | None
    units: frozenset[str]


def total_of(column: Column) -> tuple[Decimal, str] | None:
    """(sum, unit) of a column that holds numbers of one unit only; None of any other."""
    total, units = Decimal(0), set()
    for record in column.records:
        number = number_of(record.get(column.key))
        if number is None:
            return None
        total += number
        units.add(beside(record) or column.unit)
    return (total, units.pop()) if len(units) == 1 else None


def own_lines(proposal: Any, leaves: Mapping[str, Leaf]) -> Iterator[Lines]:
    """The columns of each list of objects in a proposal."""
    stack: list[tuple[Any, str]] = [(proposal, "$")]
    while stack:
        held, path = stack.pop()
        if isinstance(held, Mapping):
            stack.extend((value, under(path, key)) for key, value in held.items())
        elif isinstance(held, list):
            stack.extend((value, under(path, n)) for n, value in enumerate(held))
            if len(held) > 1 and all(isinstance(item, Mapping) for item in held):
                yield from _columns(held, path, leaves)


def _columns(
    held: list[Mapping[str, Any]], path: str, leaves: Mapping[str, Leaf]
) -> Iterator[Lines]:
    for key in held[0]:
        paths = tuple(under(under(path, n), key) for n in range(len(held)))
        cells = [leaves.get(one) for one in paths]
        numbers = [number_of(cell.value) for cell in cells if cell is not None]
        whole = len(numbers) == len(paths) and None not in numbers
        total = sum((n for n in numbers if n is not None), Decimal(0)) if whole else None
        yield Lines(paths, total, frozenset(cell.unit for cell in cells if cell is not None))


def is_total(leaf: Leaf, lines: Lines) -> bool:
    """Return whether a value is the sum of such a column."""
    if lines.total is None or len(lines.units) != 1 or leaf.path in lines.paths:
        return False
    (unit,) = lines.units
    return number_of(leaf.value) == lines.total and agree(leaf.unit, leaf.own_unit, unit)


def is_count(leaf: Leaf, lines: Lines) -> bool:
    """Return whether a value says by its key that it counts, and is how many lines there are."""
    counts = bool(COUNT_WORDS & set(tokens(leaf.key))) and not isinstance(leaf.value, bool)
    return counts and leaf.value == len(lines.paths) and leaf.path not in lines.paths


class Totals:
    """Sums of columns of the sources that are a number of the proposal."""

    def __init__(self, needles: list[Needle]) -> None:
        self._wanted: dict[Decimal, list[Needle]] = defaultdict(list)
        for needle in needles:
            if needle.number is not None and is_strong(needle.number):
                self._wanted[needle.number].append(needle)
        self._rounded = {round(float(value), 1) for value in self._wanted}

    @property
    def wanted(self) -> bool:
        """Return whether any number of the proposal can be a sum."""
        return bool(self._rounded)

    def of_column(self, column: Column) -> Iterator[Needle]:
        """Those that the column sums up to."""
        if not self._may_be(column) or (summed := total_of(column)) is None:
            return
        total, unit = summed
        for needle in self._wanted.get(total, ()):
            if agree(needle.unit, needle.own_unit, unit):
                yield needle

    def _may_be(self, column: Column) -> bool:
        """Return whether a rough sum is near a wanted one; True where it cannot be made."""
        if not self._rounded or number_of(column.records[0].get(column.key)) is None:
            return False
        try:
            rough = fsum(float(record[column.key]) for record in column.records)
        except (KeyError, TypeError, ValueError, OverflowError):
            return True
        return any(round(rough + by, 1) in self._rounded for by in (-0.05, 0, 0.05))
