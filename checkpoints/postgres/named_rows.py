"""Rows whose columns are attributes."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from django.db import connection


def fetch_named(sql: str, params: Sequence[Any] | Mapping[str, Any] = ()) -> list[Any]:
    """All rows of one statement, as named tuples."""
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        return named_rows(cursor)


def named_rows(cursor: Any) -> list[Any]:
    """The rows left in a cursor, as named tuples; a column without a name is `_` and its place."""
    make = _row_type(tuple(column[0] for column in cursor.description))._make
    return [make(row) for row in cursor.fetchall()]


@lru_cache(maxsize=512)
def _row_type(columns: tuple[str, ...]) -> Any:
    return namedtuple("Row", columns, rename=True)
