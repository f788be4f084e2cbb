"""Walks through a source record by record: an object, a row of a table, a line of text.

Values of one record belong together. A value of the proposal comes from the record that holds most
of the other values of its object, and what that record has in its place contradicts it.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from checkpoints.state.values import at

from . import texts
from .leaves import beside
from .needles import Needle, Needles
from .numbers import decimal_commas
from .sources import File


@dataclass(slots=True)
class Record:
    """One of a source: its values by key, and the wanted values in it with their paths."""

    file: str
    values: dict[str, Any] = field(default_factory=dict)
    hits: list[tuple[Needle, str]] = field(default_factory=list)


@dataclass(slots=True)
class Column:
    """The values under one key of a list of records: for sums."""

    file: str
    path: str
    key: str
    records: Sequence[Mapping[str, Any]]
    unit: str = ""  # where the records name none


LINE: Final = 20  # characters from which a text is searched for several values
_DELIMITERS: Final = ",;\t|"
_SCALAR: Final = (str, int, float, bool, type(None))


class Walk:
    """Reads one source; records with hits go to `seen`, columns of numbers to `summed`."""

    def __init__(
        self,
        needles: Needles,
        seen: Callable[[Record], None],
        summed: Callable[[Column], None],
    ) -> None:
        self._needles, self._seen, self._summed = needles, seen, summed

    def value(self, value: Any, *, file: str = "") -> None:
        """A JSON value, object by object, in its order."""
        stack: list[tuple[Any, str, str, str]] = [(value, "$", "", "")]
        while stack:
            held, path, key, unit = stack.pop()
            if isinstance(held, Mapping):
                here = beside(held) or unit
                inner = self._object(held, path, here, file)
                stack.extend((held[k], at(path, k), k, here) for k in reversed(inner))
            elif isinstance(held, list):
                self._list(held, path, key, unit, file)
                stack.extend(
                    (item, at(path, n), key, unit)
                    for n, item in reversed(list(enumerate(held)))
                    if not isinstance(item, _SCALAR)
                )
            else:
                self._object({key: held}, path, unit, file, keyed=False)

    def _object(
        self, held: Mapping[str, Any], path: str, unit: str, file: str, *, keyed: bool = True
    ) -> list[str]:
        """Look at the members that are single values; the keys of the others."""
        record, inner = Record(file), []
        for key, value in held.items():
            if not isinstance(value, _SCALAR):
                inner.append(key)
                continue
            record.values[key] = value
            self._scalar(record, value, key, unit, at(path, key) if keyed else path)
        if record.hits:
            self._seen(record)
        return inner

    def _list(self, held: list[Any], path: str, key: str, unit: str, file: str) -> None:
        for n, item in enumerate(held):
            if isinstance(item, _SCALAR):
                record = Record(file)
                self._scalar(record, item, key, unit, at(path, n))
                if record.hits:
                    self._seen(record)
        if len(held) > 1 and all(isinstance(item, Mapping) for item in held):
            for name in held[0]:
                self._summed(Column(file, path, name, held, unit))

    def _scalar(
        self, record: Record, value: Any, key: str, unit: str, path: str, *, commas: bool = False
    ) -> None:
        """Add what a single value is, or holds where it is a longer text."""
        if value is None or isinstance(value, bool):
            record.hits += [(needle, path) for needle in self._needles.literals(value, key)]
            return
        whole = self._needles.of_value(value, key, unit, commas=commas)
        record.hits += [(needle, path) for needle in whole]
        if not isinstance(value, str) or whole or (len(value) < LINE and " " not in value):
            return
        lines = value.splitlines()
        if len(lines) == 1:
            record.hits += [(needle, path) for needle in self._needles.in_text(texts.normal(value))]
        else:
            self._lines(lines, record.file, f"{path}, ")

    def file(self, file: File) -> None:
        """A file by what it is: JSON, a table, or lines of text."""
        kind = f"{file.media_type} {file.name}".lower()
        if "json" in kind:
            try:
                self.value(json.loads(file.text), file=file.name)
            except (ValueError, RecursionError):
                self._lines(file.text.splitlines(), file.name)
        elif "csv" in kind or "tab-separated" in kind or kind.endswith(".tsv"):
            self._table(file)
        else:
            self._lines(file.text.splitlines(), file.name)

    def _table(self, file: File) -> None:
        """A table with a heading, row by row."""
        heading = file.text.partition("\n")[0]
        delimiter = max(_DELIMITERS, key=heading.count)
        if not heading.count(delimiter):
            self._lines(file.text.splitlines(), file.name)
            return
        commas = delimiter != "," and decimal_commas(file.text)
        rows: list[dict[str, str]] = []
        for n, row in enumerate(_rows(file.text, delimiter), 2):
            record = Record(file.name, dict(row))
            unit = beside(row)
            for key, value in row.items():
                self._scalar(record, value, key, unit, f"row {n}, {key}", commas=commas)
            if record.hits:
                self._seen(record)
            rows.append(row)
        if len(rows) > 1:
            for key in rows[0]:
                self._summed(Column(file.name, "", key, rows))

    def _lines(self, lines: list[str], file: str, path: str = "") -> None:
        """Text, line by line: each is a record without keys."""
        for n, line in enumerate(lines, 1):
            hits = self._needles.in_text(texts.normal(line)) if line.strip() else []
            if hits:
                self._seen(Record(file, {}, [(needle, f"{path}line {n}") for needle in hits]))


def _rows(text: str, delimiter: str) -> Iterator[dict[str, str]]:
    """The rows of a table below its heading; one that does not fit it ends the reading."""
    try:
        reader = csv.reader(text.splitlines(keepends=True), delimiter=delimiter)
        heading = [name.strip().lstrip("\ufeff") for name in next(reader, [])]
        for row in reader:
            if len(row) == len(heading):
                yield dict(zip(heading, row, strict=True))
    except csv.Error:
        return


def repeated(needles: Needles, args: Any) -> set[int]:
    """The wanted values (their ids) that the arguments of a call hold already, in any form."""
    results: set[int] = set()
    stack = [args]
    while stack:
        held = stack.pop()
        if isinstance(held, Mapping):
            stack += [*held.keys(), *held.values()]
        elif isinstance(held, list):
            stack += held
        else:
            results |= {id(needle) for needle in needles.equal_to(held)}
            if isinstance(held, str):
                for line in held.splitlines():
                    text = texts.normal(line)
                    results |= {id(n) for n in needles.in_text(text, strict=False)}
    return results
