"""Reads between a decision and the next line: prepared once per connection, plain libpq calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

type Asked = tuple[str, Sequence[Any]]


def fetch(text: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
    """All rows of a statement whose text is the same at each call; each %s has its cast."""
    (found,) = fetch_all((text, values))
    return found


def fetch_all(*asked: Asked) -> list[list[tuple[Any, ...]]]:
    """The rows of several such statements, which do not need each other's, in one round trip."""
    # Here: whoever keeps a ledger in memory has no driver.
    from .store import sending

    return sending.fetch(*asked)
