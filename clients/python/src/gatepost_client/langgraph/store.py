"""LangGraph's store for graphs that run elsewhere: memory of the workspace through the API."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final
from uuid import uuid4

from langgraph.store.base import SearchOp

from ..memory_items import ITEM, list_items
from ..wire import api
from ..wire.flow import Flow
from ..wire.settings import Settings
from ..wire.transports import Blocking
from .items import ItemStore, Scope, StoredItem

BEST: Final = "50"  # a search by words has one page
DELETED: Final = "Deleted from its store."


class GatepostStore(ItemStore):
    """Keeps items in the memory of a workspace; the token needs the scope `memory`.

    `agent` and `person` (`user:7`) say whose the items are in scopes of these names. Without
    `settings` those of the environment. Each call raises Refused.
    """

    def __init__(
        self,
        *,
        scope: Scope = "workspace",
        scopes: Mapping[str, Scope] | None = None,
        agent: str = "",
        person: str = "",
        types: Iterable[type] = (),
        settings: Settings | None = None,
    ) -> None:
        super().__init__(scope=scope, scopes=scopes, types=types)
        self._owners = {"agent": agent, "person": person, "workspace": ""}
        self._settings = settings
        for one in self._all_scopes():
            if one == "thread":
                raise ValueError("Items of a thread are kept by the graphs that workers run.")
            if one != "workspace" and not self._owners[one]:
                raise ValueError(f"Say whose memory this is: {one}=")

    def _get(self, namespace: str, key: str, scope: Scope) -> StoredItem | None:
        rows = self._rows(scope, {"namespace": namespace, "item": key})
        return next((_item(row) for row in rows if _item(row).namespace == namespace), None)

    def _find(
        self,
        below: str,
        scopes: Sequence[Scope],
        takes: Callable[[StoredItem], bool],
        op: SearchOp,
    ) -> list[StoredItem]:
        matches: list[StoredItem] = []
        for scope in scopes:
            more = {"q": op.query, "limit": BEST} if op.query else {}
            rows = self._rows(scope, {"namespace": below, **more})
            matches += [one for one in map(_item, rows) if takes(one)]
        if not op.query:
            matches.sort(key=lambda one: one.updated_at, reverse=True)
        return matches[op.offset : op.offset + op.limit]

    def _namespaces(self, scopes: Sequence[Scope]) -> Iterable[tuple[str, str]]:
        return {(scope, _item(row).namespace) for scope in scopes for row in self._rows(scope, {})}

    def _put(self, namespace: str, key: str, scope: Scope, text: str) -> None:
        address = {"namespace": namespace, "key": key}
        body = {"text": text, "scope": scope, "owner": self._owners[scope]}
        # The key is one for all attempts of this call.
        self._perform(api.remember({**body, "metadata": {ITEM: address}, "key": uuid4().hex}))

    def _delete(self, namespace: str, key: str, scope: Scope) -> None:
        for row in list(self._rows(scope, {"namespace": namespace, "item": key})):
            if _item(row).namespace == namespace:
                self._perform(api.change_memory(row["id"], "forget", {"reason": DELETED}))

    def _rows(self, scope: Scope, wanted: Mapping[str, str]) -> Iterator[dict[str, Any]]:
        """Memories of a scope that are items, as the API answers them, page by page."""
        return list_items(self._perform, scope, self._owners[scope], wanted)

    def _perform(self, flow: Flow[Any]) -> Any:
        chosen = self._settings or Settings.from_environment()
        with Blocking(chosen.url, chosen.headers) as transport:
            return transport.perform(flow)


def _item(row: Mapping[str, Any]) -> StoredItem:
    address = row["metadata"][ITEM]
    return StoredItem(
        namespace=address["namespace"],
        key=address["key"],
        scope=row["scope"],
        text=row["text"],
        created_at=datetime.fromisoformat(row["created_at"]),
        updated_at=datetime.fromisoformat(row["revised_at"] or row["created_at"]),
    )
