"""What verifications and anchors read: all threads and workspaces by keyset, ends of logs, and
rows whose thread or workspace is gone."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

from ..views import HeadRow, VerificationRow
from .reading import row_of, rows

AT_ONCE = 1_000
_FIRST = UUID(int=0)


def verification(thread_id: UUID) -> VerificationRow | None:
    """What the last verification of a thread found; None when there was none."""
    found = rows(
        "SELECT n_events, intact, broken_seq, what, checked_by, checked_at FROM gp_verification "
        "WHERE thread_id = %s::uuid",
        (thread_id,),
    )
    return row_of(VerificationRow, found[0], {}) if found else None


def heads(of: str, *, workspace: UUID | None = None) -> Iterator[HeadRow]:
    """The ends of the logs of all threads or workspaces (`of`), in the order of their ids.

    Each page is a statement of its own, so that no transaction lasts; `workspace` narrows.
    """
    last = _FIRST
    while True:
        found = rows(_HEADS[of], (last, workspace, workspace, AT_ONCE))
        for ident, chain, seq, digest in found:
            yield HeadRow(of, ident, chain, seq, bytes(digest).hex())
        if len(found) < AT_ONCE:
            return
        last = found[-1][0]


def head(of: str, ident: UUID, seq: int) -> HeadRow | None:
    """The log at event `seq` (0: before the first); `hash` is empty where it has no such event.

    None when there is no such thread or workspace.
    """
    found = rows(_AT[of], (seq, ident))
    if not found:
        return None
    chain, digest = found[0]
    if seq == 0:
        return HeadRow(of, ident, chain, 0, hash=bytes(32).hex())
    return HeadRow(of, ident, chain, seq, hash="" if digest is None else bytes(digest).hex())


def ownerless(table: str, of: str = "thread") -> Iterator[tuple[UUID, int | None]]:
    """(id, lowest event) of threads or workspaces (`of`) that rows of `table` name and that have
    no row themselves; None for a table that is no log.

    `table` has an index that begins with its owner's id: one probe leads from each owner to the
    next, however many rows there are of each. Each page is one statement, so that what is born
    meanwhile is in it whole or not at all.
    """
    last = _FIRST
    lowest = f"(SELECT min(e.seq) FROM {table} e WHERE e.{of}_id = w.id)"
    following = (
        f"SELECT e.{of}_id FROM {table} e WHERE e.{of}_id > {{after}} ORDER BY e.{of}_id LIMIT 1"
    )
    sql = (
        f"WITH RECURSIVE walk(id) AS (({following.format(after='%s::uuid')}) UNION ALL "
        f"SELECT ({following.format(after='walk.id')}) FROM walk WHERE walk.id IS NOT NULL) "
        f"SELECT w.id, o.id IS NULL, CASE WHEN o.id IS NULL THEN "
        f"{lowest if table in _LOGS else 'NULL'} END FROM (SELECT id FROM walk LIMIT %s) w "
        f"LEFT JOIN gp_{of} o ON o.id = w.id WHERE w.id IS NOT NULL ORDER BY w.id"
    )
    while True:
        found = rows(sql, (last, AT_ONCE))
        for ident, gone, seq in found:
            if gone:
                yield ident, seq
        if len(found) < AT_ONCE:
            return
        last = found[-1][0]


_LOGS = frozenset({"gp_event", "gp_workspace_event"})
_HEADS = {
    "thread": "SELECT id, chain_id, last_seq, last_hash FROM gp_thread WHERE id > %s::uuid "
    "AND (%s::uuid IS NULL OR workspace_id = %s::uuid) ORDER BY id LIMIT %s",
    "workspace": "SELECT id, chain_id, last_seq, last_hash FROM gp_workspace WHERE id > %s::uuid "
    "AND (%s::uuid IS NULL OR id = %s::uuid) ORDER BY id LIMIT %s",
}
_AT = {
    "thread": "SELECT th.chain_id, e.hash FROM gp_thread th LEFT JOIN gp_event e "
    "ON e.thread_id = th.id AND e.seq = %s::bigint WHERE th.id = %s::uuid",
    "workspace": "SELECT w.chain_id, e.hash FROM gp_workspace w "
    "LEFT JOIN gp_workspace_event e ON e.workspace_id = w.id AND e.seq = %s::bigint "
    "WHERE w.id = %s::uuid",
}
