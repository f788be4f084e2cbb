"""The part of the engine's ledger that is about memory."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol
from uuid import UUID

from checkpoints import queries, store
from checkpoints.memories import Kind, MemoryRow, NewMemory, Scope
from checkpoints.queries import Reach
from checkpoints.records import Work

# {(memory, revision): (the row as it is now, text and metadata of that revision)}.
type Texts = dict[tuple[UUID, int], tuple[MemoryRow, str, dict[str, Any]]]

# ((memory, revision) near to a text in meaning, the nearest first; why they were not looked for).
type Near = Callable[[str, Reach], tuple[Sequence[tuple[UUID, int]], str]]


def author_of(work: Work) -> str:
    """The actor that a thread's memories are by."""
    return f"agent:{work.agent}"


def person_of(work: Work) -> str:
    """The person who started a thread, whatever they acted through; empty where nobody did."""
    person = work.started_by.partition("/")[0]
    return person if person.startswith("user:") else ""


class MemoryLedger(Protocol):
    """The part of the engine's ledger that is about memory."""

    def remember(self, work: Work, new: NewMemory, *, key: str) -> dict[str, Any]: ...
    def recall(
        self,
        work: Work,
        words: str,
        *,
        scopes: Collection[Scope],
        kinds: Collection[Kind],
        person: str,
        limit: int,
        near: Near,
    ) -> tuple[list[dict[str, Any]], str]: ...
    def memory_item(
        self, work: Work, namespace: str, key: str, scope: Scope, owner: str
    ) -> MemoryRow | None: ...
    def memory_items(
        self,
        work: Work,
        below: str,
        owners: Mapping[Scope, str],
        words: str,
        *,
        limit: int,
        offset: int,
    ) -> list[MemoryRow]: ...
    def memory_item_namespaces(
        self, work: Work, owners: Mapping[Scope, str]
    ) -> list[tuple[Scope, str]]: ...
    def forget(self, work: Work, ids: Sequence[UUID], *, reason: str) -> int: ...
    def memory_texts(self, work: Work, refs: Sequence[tuple[UUID, int]]) -> Texts: ...


class Memories:
    """The part of the database's ledger that is about memory."""

    def remember(self, work: Work, new: NewMemory, *, key: str) -> dict[str, Any]:
        """Keep a memory once under a key; its reference. Raises LeaseLost."""
        row = store.remember(work.workspace, new, actor=author_of(work), key=key, lease=work.token)
        return row.ref

    def recall(
        self,
        work: Work,
        words: str,
        *,
        scopes: Collection[Scope],
        kinds: Collection[Kind],
        person: str,
        limit: int,
        near: Near,
    ) -> tuple[list[dict[str, Any]], str]:
        """(references to what the thread can know, the best first; why words alone found them)."""
        reach = Reach(work.workspace, work.thread, work.agent, person, scopes, kinds)
        refs, why = near(words, reach)
        return [row.ref for row, _ in queries.recall(words, reach, limit=limit, near=refs)], why

    def memory_item(
        self, work: Work, namespace: str, key: str, scope: Scope, owner: str
    ) -> MemoryRow | None:
        """The item of a store at a place."""
        return queries.memory_item(
            namespace, key, workspace=work.workspace, scope=scope, owner=owner
        )

    def memory_items(
        self,
        work: Work,
        below: str,
        owners: Mapping[Scope, str],
        words: str,
        *,
        limit: int,
        offset: int,
    ) -> list[MemoryRow]:
        """Items of a store below a namespace, the last written or the best first."""
        more: dict[str, Any] = {"words": words, "limit": limit, "offset": offset}
        return queries.memory_items(below, owners, workspace=work.workspace, **more)

    def memory_item_namespaces(
        self, work: Work, owners: Mapping[Scope, str]
    ) -> list[tuple[Scope, str]]:
        """(scope, namespace) of those that have items."""
        return queries.memory_item_namespaces(owners, workspace=work.workspace)

    def forget(self, work: Work, ids: Sequence[UUID], *, reason: str) -> int:
        """Delete the texts of memories; how many had one."""
        return store.forget_memories(
            ids, workspace=work.workspace, reason=reason, actor=author_of(work)
        )

    def memory_texts(self, work: Work, refs: Sequence[tuple[UUID, int]]) -> Texts:
        """Those of these memories that are there, with their texts at these revisions."""
        rows = queries.memories_named([ident for ident, _ in refs], workspace=work.workspace)
        former = queries.texts_at([r for r in refs if r[0] in rows and rows[r[0]].revision != r[1]])
        # While a legal hold keeps its text, an expired one is gone for agents all the same.
        timed = [ident for ident, row in rows.items() if row.expires_at and not row.gone_at]
        expired = queries.expired_memories(timed, workspace=work.workspace) if timed else set()
        results: Texts = {}
        for ident, revision in refs:
            if (row := rows.get(ident)) is None:
                continue
            if ident in expired:
                row = replace(row, gone_at=row.expires_at, gone_reason=store.MEMORY_EXPIRED)
            now = (row.text, row.metadata)
            text, metadata = former.get((ident, revision), now)
            results[ident, revision] = row, text, metadata
        return results
