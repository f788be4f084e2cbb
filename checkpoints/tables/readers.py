"""Rows as records: what to SELECT, and how to read it, follows from the names of the fields."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from functools import cache
from typing import Any, Final, cast

from ..state import deltas
from .listed import Columns


def decoded(text: str | None) -> Any:
    """A stored value; None where there is none."""
    return None if text is None else deltas.decode(text)


def names(text: str) -> tuple[str, ...]:
    """A stored list of names."""
    return tuple(deltas.decode(text))


def _bytes(value: Any) -> bytes | None:
    return None if value is None else bytes(value)


def record_of[T](kind: Callable[..., T], row: Any, **decode: Callable[[Any], Any]) -> T:
    """A named row as a record whose fields are called as its columns; `decode` reads some."""
    values = {name: getattr(row, name) for name in _field_names(kind)}
    return kind(**values | {name: read(values[name]) for name, read in decode.items()})


# Kept for each kind: a search makes some hundred records.
@cache
def _field_names(kind: Callable[..., Any]) -> tuple[str, ...]:
    return tuple(field.name for field in fields(cast(Any, kind)))


class Reader[T]:
    """Reads rows of a table as records of one kind, a dataclass whose fields are columns.

    `sql` has the SQL of fields that are no column of that name: another column, or an expression.
    `decode` has what reads some fields; other JSON goes through the one decoder, or stays text.
    """

    def __init__(
        self,
        kind: Callable[..., T],
        columns: Columns,
        *,
        alias: str = "",
        sql: Mapping[str, str] = {},
        decode: Mapping[str, Callable[[Any], Any]] = {},
        json_as_text: bool = False,
    ) -> None:
        self._kind = kind
        by_type = {"bytea": _bytes} if json_as_text else {"bytea": _bytes, "jsonb": decoded}
        selected, decoders = [], []
        for index, field in enumerate(fields(cast(Any, kind))):
            text, type_ = sql.get(field.name, field.name), ""
            if text in columns:
                type_, text = columns[text].type, columns.only(text).select(alias)
            elif field.name not in sql:
                raise KeyError(f"{columns.table} has no column {field.name}")
            selected.append(text)
            decoder = decode.get(field.name) or by_type.get(type_)
            if decoder is not None:
                decoders.append((index, decoder))
        self.select: Final = ", ".join(selected)
        self._decoders: Final = tuple(decoders)

    def __call__(self, values: Sequence[Any]) -> T:
        """The record of a row that was selected by `select`."""
        row = list(values)
        for index, decoder in self._decoders:
            row[index] = decoder(row[index])
        return self._kind(*row)
