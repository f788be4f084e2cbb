"""How readers read: one statement, stored JSON as text through the one decoder."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from django.db import connection

from ..state import deltas


def rows(sql: str, params: Sequence[Any] | Mapping[str, Any] = ()) -> list[tuple[Any, ...]]:
    """All rows of one statement."""
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        return list(cursor.fetchall())


def decoded(text: str | None) -> Any:
    """A stored value; None where there is none."""
    return None if text is None else deltas.decode(text)


def names(text: str) -> tuple[str, ...]:
    """A stored list of names."""
    return tuple(deltas.decode(text))


def row_of[T](
    kind: Callable[..., T],
    values: Sequence[Any],
    columns: Mapping[int, Callable[[Any], Any]],
) -> T:
    """A row as a dataclass; `columns` says by place which values are stored texts."""
    return kind(*[columns[i](v) if i in columns else v for i, v in enumerate(values)])
