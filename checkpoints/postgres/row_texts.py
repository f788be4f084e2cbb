"""Rows as the texts that PostgreSQL sends, handed on one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

type Take = Callable[..., None]


"""Gets the values of one row as their texts in UTF-8, None for NULL."""


def take_rows(rows: Iterable[Sequence[Any]], take: Take) -> None:
    """Hand rows that were fetched as a whole to `take`."""
    for row in rows:
        take(*[None if value is None else str(value).encode() for value in row])
