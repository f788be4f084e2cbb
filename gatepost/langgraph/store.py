"""LangGraph's store for graphs that workers run: memory, each call of it recorded."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from langgraph.config import get_config
from langgraph.store.base import SearchOp

from checkpoints.memories import ITEM
from checkpoints.state import deltas
from gatepost import Context, Memory, StepFailed
from gatepost_client.langgraph.items import ItemStore, Scope, StoredItem

from .tools import current_superstep

DELETED: Final = "The graph deleted it from its store."


class GatepostStore(ItemStore):
    """Keeps items in Gatepost's memory; in the memory of the agent, unless `scope` says otherwise.

    Compile a graph with `store=GatepostStore()`. It works in nodes and tools of a thread, not in
    tools that are effects.
    """

    def __init__(
        self,
        *,
        scope: Scope = "agent",
        scopes: Mapping[str, Scope] | None = None,
        types: Iterable[type] = (),
    ) -> None:
        super().__init__(scope=scope, scopes=scopes, types=types)

    def _get(self, namespace: str, key: str, scope: Scope) -> StoredItem | None:
        def get(ctx: Context, call: str) -> Memory | None:
            return ctx.memory_item(namespace, key, scope=scope, key=call)

        memory = _once(get, "get", scope, namespace, key)
        return None if memory is None else _item(memory)

    def _find(
        self,
        below: str,
        scopes: Sequence[Scope],
        takes: Callable[[StoredItem], bool],
        op: SearchOp,
    ) -> list[StoredItem]:
        filter = self._serde.encode(dict(op.filter or {}), "$.filter")

        def find(ctx: Context, call: str) -> list[Memory]:
            return ctx.memory_items(
                below,
                scopes=scopes,
                takes=lambda memory: takes(_item(memory)),
                query=op.query or "",
                filter=filter,
                limit=op.limit,
                offset=op.offset,
                key=call,
            )

        rest = [list(scopes), below, op.query, filter, op.limit, op.offset]
        return [_item(memory) for memory in _once(find, "search", *rest)]

    def _namespaces(self, scopes: Sequence[Scope]) -> Iterable[tuple[str, str]]:
        def read(ctx: Context, call: str) -> list[tuple[Scope, str]]:
            return ctx.memory_namespaces(scopes=scopes, key=call)

        pairs: list[tuple[str, str]] = _once(read, "namespaces", list(scopes))
        return pairs

    def _put(self, namespace: str, key: str, scope: Scope, text: str) -> None:
        address = {ITEM: {"namespace": namespace, "key": key}}

        def put(ctx: Context, call: str) -> Memory:
            return ctx.remember(text, scope=scope, metadata=address, key=call)

        _once(put, "put", scope, namespace, key, text)

    def _delete(self, namespace: str, key: str, scope: Scope) -> None:
        def delete(ctx: Context, call: str) -> int:
            memory = ctx.memory_item(namespace, key, scope=scope, key=f"{call}:get")
            if memory is None or memory.ref is None:
                return 0
            return ctx.forget(memory.ref, reason=DELETED, key=call)

        _once(delete, "delete", scope, namespace, key)


def _once(perform: Callable[[Context, str], Any], *call: Any) -> Any:
    """Return the recorded result of a call of the task that runs, else make the call.

    Raises StepFailed outside of a superstep.
    """
    step = current_superstep.get()
    if step is None:
        raise StepFailed(
            "A GatepostStore works in a node or a tool of a thread, and not in a tool that is an "
            "effect. In a test, play the graph by Harness."
        )
    # Tasks of a superstep work at the same time: each has records of its own.
    task = get_config().get("configurable", {}).get("checkpoint_ns", "")
    digest = hashlib.sha256(deltas.canonical([task, *call])).hexdigest()
    return step.memory(f"store:{digest[:32]}", perform)


def _item(memory: Memory) -> StoredItem:
    address = memory.metadata[ITEM]
    at = memory.at or datetime.now(UTC)
    return StoredItem(
        namespace=address["namespace"],
        key=address["key"],
        scope=memory.scope,
        text=memory.text,
        created_at=at,
        updated_at=memory.revised_at or at,
    )
