"""Reads between a decision and the next line: prepared once per connection, a plain libpq call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def fetch(text: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
    """All rows of a statement whose text is the same at each call; each %s has its cast."""
    # Here: whoever keeps a ledger in memory has no driver.
    from .store import sending

    return sending.fetch(text, values)
