"""Memories that are items of a store, as the API lists them: those of one owner, page by page."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from .wire import api
from .wire.flow import Flow

ITEM = "$item"  # of the metadata of a memory
ROWS = "200"


def list_items(
    perform: Callable[[Flow[Any]], Any], scope: str, owner: str, wanted: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    """Read the items of an owner, the newest first; `wanted` are filters of the API."""
    query = {"state": "kept", "scope": scope, "limit": ROWS}
    query |= {scope: owner} if owner else {}
    query |= {name: value for name, value in wanted.items() if value}
    cursor: str | None = ""
    while cursor is not None:
        page = perform(api.list_memories(query | ({"cursor": cursor} if cursor else {})))
        for row in page["results"]:
            if ITEM in row["metadata"] and row["owner"] == owner:
                yield row
        cursor = page["next_cursor"]
