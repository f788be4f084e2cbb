"""The only reader of memory: one by its id, those of a list, what a search finds.

A search ranks the newest HITS_RANKED that have a word of the question: ranking reads each of them,
and common words are everywhere (ADR 110). Where the nearest in meaning are known as well, the ranks
of both lists are added up (reciprocal rank fusion, ADR 112).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

from checkpoints.errors import InvalidValue, NotFound
from checkpoints.memories import KINDS, SCOPES, FormerText, Kind, MemoryRow, Scope

from ..postgres.list_conditions import condition, narrowing, parameters
from ..postgres.named_rows import fetch_named
from ..postgres.plans import planned_for_this
from ..postgres.sql_files import sql_file
from ..state import deltas
from ..tables.readers import record_of

# (memory, revision) of one that a store of vectors named.
type Near = tuple[UUID, int]

COLUMNS: Final = (
    "m.id, m.workspace_id AS workspace, m.scope, m.owner, m.kind, m.text, m.metadata::text AS "
    "metadata, m.outside, m.source, m.thread_id AS thread, m.branch, m.step, m.node, m.author, "
    "m.revision, m.created_at, m.revised_at, m.revised_by, m.expires_at, m.gone_at, m.gone_by, "
    "m.gone_reason"
)
HITS_RANKED: Final = 2_000
# Memories of each list that are fused, and what a first place counts against a second one.
FUSED: Final = 50
RANK_SOFTENED_BY: Final = 60
STATES: Final = ("kept", "gone")


@dataclass(frozen=True, slots=True)
class Viewer:
    """A reader of memories: of those of persons they read their own, or `all`."""

    person: str
    all: bool = False


@dataclass(frozen=True, slots=True)
class MemorySelection:
    """Conditions that all hold for the memories of a list; `state` is kept or gone."""

    state: str = narrowing(
        "all",
        "(m.gone_at IS NULL AND (m.expires_at IS NULL OR m.expires_at > clock_timestamp())) "
        "= (%(state)s::varchar = 'kept')",
    )
    scope: str = narrowing("", "m.scope = %(scope)s::varchar")
    kind: str = narrowing("", "m.kind = %(kind)s::varchar")
    source: str = narrowing("", "m.source = %(source)s::varchar")
    outside: bool = narrowing(False, "m.outside")
    agent: str = narrowing(
        "",
        "(m.scope = 'agent' AND m.owner = %(agent)s::varchar OR EXISTS (SELECT 1 FROM gp_thread th "
        "WHERE th.id = m.thread_id AND th.agent = %(agent)s::varchar))",
    )
    thread: UUID | None = narrowing(
        None,
        "(m.thread_id = %(thread)s::uuid OR m.scope = 'thread' AND m.owner = %(thread)s::text)",
    )
    person: str = narrowing("", "m.scope = 'person' AND m.owner = %(person)s::varchar")
    namespace: str = narrowing(
        "",
        "starts_with((m.metadata -> '$item' ->> 'namespace') || '.', %(namespace)s::text || '.')",
    )
    item: str = narrowing("", "m.metadata -> '$item' ->> 'key' = %(item)s::text")


@dataclass(frozen=True, slots=True)
class Reach:
    """The reach of a thread: memory of its own and its bases, its agent, a person, everybody."""

    workspace: UUID
    thread: UUID | None
    agent: str
    person: str = ""
    scopes: Collection[Scope] = field(default=SCOPES)
    kinds: Collection[Kind] = field(default=KINDS)


SQL: Final = sql_file(__file__, columns=COLUMNS, narrowed=condition(MemorySelection))


def memory(ident: UUID, *, workspace: UUID, viewer: Viewer | None = None) -> MemoryRow:
    """One memory, also one that is gone; NotFound also for what the viewer may not see."""
    rows = fetch_named(SQL.memory, _seen(viewer) | {"id": ident, "workspace": workspace})
    if not rows:
        raise NotFound("There is no such memory in this workspace.")
    return _row(rows[0])


def memory_of_key(key: str, *, workspace: UUID) -> MemoryRow | None:
    """The memory that an activity with this key remembered."""
    rows = fetch_named(SQL.of_key, (workspace, key))
    return _row(rows[0]) if rows else None


def memories(
    selection: MemorySelection,
    *,
    workspace: UUID,
    viewer: Viewer | None = None,
    after: UUID | None = None,
    limit: int = 50,
) -> list[MemoryRow]:
    """Memories of a workspace, the newest first, after the last one of the page before."""
    if after is not None and not fetch_named(SQL.is_there, (after, workspace)):
        raise InvalidValue("cursor", "is not a cursor of this list")
    params = parameters(selection) | _seen(viewer)
    params |= {"workspace": workspace, "after": after, "limit": limit}
    return [_row(row) for row in fetch_named(SQL.memories, params)]


def search_memories(
    words: str,
    selection: MemorySelection,
    *,
    workspace: UUID,
    viewer: Viewer | None = None,
    limit: int = 50,
    near: Sequence[Near] = (),
) -> list[MemoryRow]:
    """Memories of a workspace with some of these words, the best first; `near` as in `recall`."""
    params = parameters(selection) | _seen(viewer)
    params |= {"workspace": workspace, "words": _query(words), "hits": HITS_RANKED}
    rows = fetch_named(SQL.search, params | {"limit": max(limit, FUSED) if near else limit})
    worded = [_row(row) for row in rows]
    if not near:
        return worded
    alike = fetch_named(SQL.search_near, params | {"ids": [ident for ident, _ in near]})
    return [row for row, _ in _fused(worded, _in_order(alike, near))][:limit]


def recall(
    words: str, reach: Reach, *, limit: int, near: Sequence[Near] = ()
) -> list[tuple[MemoryRow, float]]:
    """Memories that a thread reads with words of a text, the best first: (memory, rank).

    With those that are `near` in meaning, the nearest first, both lists count alike. Without these
    and without a word that says something the newest.
    """
    query = _query(words)
    params = _reach(reach) | {"hits": HITS_RANKED}
    if not near:
        sql = SQL.recall if query else SQL.recall_newest
        more = {"words": query} if query else {}
        with planned_for_this():
            rows = fetch_named(sql, params | more | {"limit": limit})
        return [(_row(row), float(row.rank)) for row in rows]
    fusing: dict[str, Any] = {"words": query, "limit": max(limit, FUSED)}
    with planned_for_this():
        worded = [_row(row) for row in fetch_named(SQL.recall, params | fusing)] if query else []
    alike = fetch_named(SQL.near, params | {"ids": [ident for ident, _ in near]})
    return _fused(worded, _in_order(alike, near))[:limit]


def places(reach: Reach) -> list[tuple[Scope, str]]:
    """(scope, owner) of all memory that a thread reads."""
    return [(row.scope, row.owner) for row in fetch_named(SQL.reach, _reach(reach))]


def memories_named(idents: Sequence[UUID], *, workspace: UUID) -> dict[UUID, MemoryRow]:
    """{id: memory} of those of a workspace, gone ones too."""
    rows = fetch_named(SQL.named, (list(idents), workspace))
    return {row.id: _row(row) for row in rows}


def expired_memories(idents: Sequence[UUID], *, workspace: UUID) -> set[UUID]:
    """Those of these memories that have expired, though a legal hold keeps their texts."""
    return {row.id for row in fetch_named(SQL.expired, (list(idents), workspace))}


def memory_item(
    namespace: str, key: str, *, workspace: UUID, scope: Scope, owner: str
) -> MemoryRow | None:
    """The item of a store at a place, the newest if there are several; None where it is empty."""
    params = {"workspace": workspace, "scope": scope, "owner": owner}
    rows = fetch_named(SQL.item, params | {"namespace": namespace, "key": key})
    return _row(rows[0]) if rows else None


def memory_items(
    below: str,
    owners: Mapping[Scope, str],
    *,
    workspace: UUID,
    words: str = "",
    limit: int,
    offset: int = 0,
) -> list[MemoryRow]:
    """Items of a store below a namespace, in the memory of these owners, last written first.

    With `words` those that have some of them, the best first. An empty `below` is all.
    """
    query = _query(words) if words else ""
    if words and not query:
        return []
    params = _places(owners) | {"workspace": workspace, "below": below, "words": query}
    params |= {"limit": limit, "offset": offset}
    return [_row(row) for row in fetch_named(SQL.items, params)]


def memory_item_namespaces(
    owners: Mapping[Scope, str], *, workspace: UUID
) -> list[tuple[Scope, str]]:
    """(scope, namespace) of those that have items in the memory of these owners."""
    rows = fetch_named(SQL.item_namespaces, _places(owners) | {"workspace": workspace})
    return [(row.scope, row.namespace) for row in rows]


def _places(owners: Mapping[Scope, str]) -> dict[str, Any]:
    return {"scopes": list(owners), "owners": list(owners.values())}


def former_texts(ident: UUID) -> list[FormerText]:
    """The texts of a memory before it was corrected, the newest first."""
    return [record_of(FormerText, row) for row in fetch_named(SQL.former, (ident,))]


def texts_at(
    refs: Sequence[tuple[UUID, int]],
) -> dict[tuple[UUID, int], tuple[str, dict[str, Any]]]:
    """{(memory, revision): its text and metadata then} of former texts."""
    idents, revisions = [ident for ident, _ in refs], [revision for _, revision in refs]
    rows = fetch_named(SQL.texts_at, (idents, revisions)) if refs else []
    return {(row.memory_id, row.revision): (row.text, deltas.decode(row.metadata)) for row in rows}


def remembered_after(thread: UUID, *, branch: int, step: int, limit: int = 200) -> list[MemoryRow]:
    """Memories that a thread has kept after a step of its way and still has, oldest first."""
    return [_row(row) for row in fetch_named(SQL.after, (thread, branch, branch, step, limit))]


def memories_of_threads(threads: Sequence[UUID], *, workspace: UUID) -> tuple[int, int]:
    """(memories that came from threads or are theirs, those of them that others read)."""
    ids = list(threads)
    (row,) = fetch_named(SQL.counted, (workspace, ids, [str(one) for one in ids]))
    return int(row.n), int(row.shared)


def _query(words: str) -> str:
    """The words of a text as a query in which any of them may occur; empty where none says much."""
    (row,) = fetch_named(SQL.query, (words,))
    return str(row.query)


def _reach(reach: Reach) -> dict[str, Any]:
    return {
        "workspace": reach.workspace,
        "thread": reach.thread,
        "agent": reach.agent,
        "person": reach.person,
        "scopes": list(reach.scopes),
        "kinds": list(reach.kinds),
    }


def _in_order(records: Sequence[Any], near: Sequence[Near]) -> list[MemoryRow]:
    """The memories in the order of `near`; one that was corrected since has another meaning."""
    rows = {(row.id, row.revision): _row(row) for row in records}
    return [rows[one] for one in near if one in rows]


def _fused(*lists: Sequence[MemoryRow]) -> list[tuple[MemoryRow, float]]:
    """The memories of ranked lists by the sum of 1 / (60 + place), the best first."""
    scores: dict[UUID, float] = {}
    rows: dict[UUID, MemoryRow] = {}
    for some in lists:
        for rank, row in enumerate(some, 1):
            rows[row.id] = row
            scores[row.id] = scores.get(row.id, 0) + 1 / (RANK_SOFTENED_BY + rank)
    return sorted(((rows[one], score) for one, score in scores.items()), key=lambda pair: -pair[1])


def _seen(viewer: Viewer | None) -> dict[str, Any]:
    return {"viewer": viewer.person if viewer else "", "all": viewer is None or viewer.all}


def _row(row: Any) -> MemoryRow:
    return record_of(MemoryRow, row, metadata=deltas.decode)
