"""Insert many rows of one table in one statement, as an import brings them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import batched
from typing import Any, Final

from django.db import connection

from ..tables.listed import Columns

AT_ONCE: Final = 200


def insert_rows(columns: Columns, rows: Iterable[Mapping[str, Any]], **same: Any) -> None:
    """Insert rows by the names of their columns; `same` are values that all of them have."""
    sql = columns.only(*columns.exported, *same).insert
    with connection.cursor() as cursor:
        for some in batched(rows, AT_ONCE):
            cursor.executemany(sql, [{**row, **same} for row in some])
