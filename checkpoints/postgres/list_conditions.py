"""Statements of a list that a selection narrows: a dataclass whose fields have their SQL.

A field narrows nothing while it has its default: its parameter is null then.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import Field, field, fields
from typing import Any, ClassVar, Protocol

_SQL = "listed"


class Selection(Protocol):
    """A dataclass, some of whose fields are `narrowing`."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]


def narrowing(default: Any, sql: str) -> Any:
    """A field of a selection; its value is the parameter of its name, such as %(agent)s."""
    return field(default=default, metadata={_SQL: sql})


def condition(selection: type[Selection]) -> str:
    """The SQL that holds for all that such a selection lists."""
    return "\n  AND ".join(
        f"(%({one.name})s::text IS NULL OR {one.metadata[_SQL]})" for one in _narrowing(selection)
    )


def parameters(selection: Selection) -> dict[str, Any]:
    """{parameter of its SQL: value}."""
    values = {one.name: getattr(selection, one.name) for one in _narrowing(selection)}
    for one in _narrowing(selection):
        if values[one.name] == one.default:
            values[one.name] = None
        elif isinstance(values[one.name], tuple):  # psycopg writes a tuple as a row
            values[one.name] = list(values[one.name])
    return values


def _narrowing(selection: type[Selection] | Selection) -> Iterator[Field[Any]]:
    return (one for one in fields(selection) if _SQL in one.metadata)
