"""Items of a store in a node's memory: memories that have a place, which the next one there takes.

For adapters of frameworks that have such stores; `Context.remember` with the metadata `$item` puts
an item. Each read is recorded like a recall: references, never texts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from checkpoints.memories import ITEM, QUERY_MAX, MemoryRow, Scope
from checkpoints.records import NewActivity

from ..authoring.errors import StepFailed
from ..authoring.memories import Memory
from ..step.advice import storable
from .memories import Memories

GET: Final = "memory.get"
SEARCH: Final = "memory.search"
NAMESPACES: Final = "memory.namespaces"
# Rows of one read while a filter looks for those that it takes.
ROWS: Final = 200


class MemoryItems(Memories):
    """Reads the items of a store in one step."""

    def memory_item(
        self, namespace: str, item: str, *, scope: Scope, key: str | None = None
    ) -> Memory | None:
        """Return the item at a place, recorded; None where there is none, or is none any more."""
        args = {"namespace": namespace, "item": item, "scope": scope}

        def read(_: NewActivity) -> list[dict[str, Any]]:
            owner = self._owner(scope)
            if scope != "workspace" and not owner:
                return []
            row = self._step.ledger.memory_item(self._step.work, namespace, item, scope, owner)
            return [] if row is None else [row.ref]

        return next(iter(self._items(GET, args, key, read)), None)

    def memory_items(
        self,
        below: str,
        *,
        scopes: Sequence[Scope],
        takes: Callable[[Memory], bool],
        query: str = "",
        filter: Mapping[str, Any] | None = None,
        limit: int = 10,
        offset: int = 0,
        key: str | None = None,
    ) -> list[Memory]:
        """Search the items below a namespace, recorded: the last written first.

        With a `query` those with some of its words, the best first. `takes` says which items count;
        the record has `filter` in its place.
        """
        if len(query) > QUERY_MAX:
            raise StepFailed(f"A query has at most {QUERY_MAX:,} characters, not {len(query):,}.")
        args: dict[str, Any] = {"below": below, "scopes": list(scopes), "query": query}
        args |= {"filter": dict(filter or {}), "limit": limit, "offset": offset}
        storable(args, "What is searched")
        self._refuse_hidden(args, "What is searched")

        def read(_: NewActivity) -> list[dict[str, Any]]:
            refs: list[dict[str, Any]] = []
            at = 0
            while len(refs) < offset + limit:
                rows = self._step.ledger.memory_items(
                    self._step.work, below, self._owners(scopes), query, limit=ROWS, offset=at
                )
                refs += [row.ref for row in rows if takes(_memory_of(row))]
                at += ROWS
                if len(rows) < ROWS:
                    break
            return refs[offset : offset + limit]

        return self._items(SEARCH, args, key, read)

    def memory_namespaces(
        self, *, scopes: Sequence[Scope], key: str | None = None
    ) -> list[tuple[Scope, str]]:
        """Return (scope, namespace) of those that have items, recorded."""

        def read(_: NewActivity) -> list[list[str]]:
            pairs = self._step.ledger.memory_item_namespaces(self._step.work, self._owners(scopes))
            return sorted([scope, namespace] for scope, namespace in pairs)

        pairs = self._recorded_call(NAMESPACES, {"scopes": list(scopes)}, key, read)
        return [(scope, namespace) for scope, namespace in pairs]

    def _owners(self, scopes: Sequence[Scope]) -> dict[Scope, str]:
        owners = {scope: self._owner(scope) for scope in scopes}
        return {scope: one for scope, one in owners.items() if one or scope == "workspace"}

    def _items(
        self, name: str, args: Any, key: str | None, read: Callable[[NewActivity], Any]
    ) -> list[Memory]:
        """The memories that a read was answered, without those that are gone since."""
        memories = self._memories(self._recorded_call(name, args, key, read))
        return [one for one in memories if not one.gone and ITEM in one.metadata]


def _memory_of(row: MemoryRow) -> Memory:
    return Memory(
        ref=None,
        text=row.text,
        scope=row.scope,
        author=row.author,
        at=row.created_at,
        revised_at=row.revised_at,
        metadata=row.metadata,
    )
