"""A table's columns as one list, and the SQL that follows from it; pure.

All texts are made once, at import: no statement is put together column by column when it is sent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

_FLAGS: Final = frozenset({"null", "proved", "sealed", "capsule"})


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table, its SQL type, and what is done with it.

    `sealed`: it enters the hash by which an event names the row. `proved`: verification compares it
    with the log, as it does all that is sealed. `exported`: it travels in a capsule.
    """

    name: str
    type: str
    nullable: bool
    sealed: bool
    proved: bool
    exported: bool

    @property
    def placeholder(self) -> str:
        """A parameter of this type."""
        return f"%s::{self.type}"

    @property
    def selected(self) -> str:
        """The column in a SELECT: stored JSON comes as text, for the one decoder."""
        return f"{self.name}::text" if self.type == "jsonb" else self.name


class Columns(Mapping[str, Column]):
    """Columns of one table by their names, in order: all of them, or some."""

    def __init__(self, table: str, columns: Mapping[str, Column]) -> None:
        self.table = table
        self._columns = dict(columns)

    def __getitem__(self, name: str) -> Column:
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def only(self, *names: str) -> Columns:
        """These columns, in this order; KeyError for a name that the table has not."""
        return Columns(self.table, {name: self[name] for name in names})

    def without(self, *names: str) -> Columns:
        """All but these; KeyError for a name that the table has not."""
        self.only(*names)
        return self.which(lambda column: column.name not in names)

    def which(self, condition: Callable[[Column], bool]) -> Columns:
        """The columns for which the condition holds."""
        return Columns(self.table, {n: c for n, c in self._columns.items() if condition(c)})

    @cached_property
    def sealed(self) -> Columns:
        """The columns that enter the hash by which an event names the row."""
        return self.which(lambda column: column.sealed)

    @cached_property
    def proved(self) -> Columns:
        """The columns that verification compares with the log."""
        return self.which(lambda column: column.proved)

    @cached_property
    def exported(self) -> Columns:
        """The columns that travel in a capsule."""
        return self.which(lambda column: column.exported)

    @cached_property
    def json(self) -> frozenset[str]:
        """The names of the columns that hold JSON."""
        return frozenset(name for name, column in self._columns.items() if column.type == "jsonb")

    @cached_property
    def placeholders(self) -> dict[str, str]:
        """A typed parameter for each column."""
        return {name: column.placeholder for name, column in self._columns.items()}

    def select(self, alias: str = "") -> str:
        """The columns of a SELECT, as `row` reads them."""
        before = f"{alias}." if alias else ""
        return ", ".join(before + column.selected for column in self._columns.values())

    def row(self, values: Sequence[Any]) -> dict[str, Any]:
        """A row that was selected by `select`, by the names of its columns; JSON as text."""
        return {
            name: bytes(value) if isinstance(value, memoryview) else value
            for name, value in zip(self._columns, values, strict=True)
        }

    @cached_property
    def insert(self) -> str:
        """An INSERT of a row whose parameters are named after the columns."""
        values = ", ".join(f"%({c.name})s::{c.type}" for c in self._columns.values())
        return f"INSERT INTO {self.table} ({', '.join(self._columns)}) VALUES ({values})"


def listed(table: str, lines: str) -> Columns:
    """The columns of a table from one line each: name, type, then null, proved, sealed, capsule."""
    columns: dict[str, Column] = {}
    for name, type_, *flags in map(str.split, lines.strip().splitlines()):
        if name in columns or not _FLAGS.issuperset(flags):
            raise ValueError(f"{table}.{name} is listed twice, or has an unknown flag.")
        sealed = "sealed" in flags
        proved = sealed or "proved" in flags
        columns[name] = Column(name, type_, "null" in flags, sealed, proved, "capsule" in flags)
    return Columns(table, columns)
