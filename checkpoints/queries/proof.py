"""What verifications and anchors read: all threads and workspaces by keyset, ends of logs, and
rows whose thread or workspace is gone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from ..postgres.named_rows import fetch_named
from ..state import deltas
from ..tables.readers import record_of
from ..views import HeadRow, VerificationRow
from .rows import rows

AT_ONCE = 1_000
_FIRST = UUID(int=0)
_VERIFICATION = "SELECT to_jsonb(k)::text FROM {table} k WHERE k.{owner} = %s::uuid"
# A value that differs when something in a workspace was damaged or verified again.
DAMAGE_MARK = """
SELECT array_agg(k.at ORDER BY k.at) FROM (SELECT found_at AS at FROM gp_verification
WHERE workspace_id = %s::uuid AND NOT intact UNION ALL SELECT coalesce(found_at, completed_at)
FROM gp_workspace_verification WHERE workspace_id = %s::uuid) k
"""


@dataclass(frozen=True, slots=True)
class DamageRow:
    """A damaged record of a workspace: a thread, or the workspace itself; `title` names it."""

    of: str
    id: UUID
    workspace: UUID | None
    title: str
    broken_seq: int | None
    what: str
    found_at: datetime
    found_by: str
    checked_at: datetime


@dataclass(frozen=True, slots=True)
class IntegrityRow:
    """State of the records of a workspace: damaged ones, and when everything was last verified."""

    damaged: int
    found_at: datetime | None
    n_verified: int
    completed_at: datetime | None


def verification(thread_id: UUID) -> VerificationRow | None:
    """The result of a thread's last verification; None when there was none."""
    result = rows(_VERIFICATION.format(table="gp_verification", owner="thread_id"), (thread_id,))
    return verification_of(result[0][0]) if result else None


def verifications(thread_ids: Sequence[UUID]) -> dict[UUID, VerificationRow]:
    """{thread: the result of its last verification} of those of these threads that have one."""
    result = rows(
        "SELECT k.thread_id, to_jsonb(k)::text FROM gp_verification k "
        "WHERE k.thread_id = ANY(%s::uuid[])",
        (list(thread_ids),),
    )
    return {thread: row for thread, text in result if (row := verification_of(text)) is not None}


def workspace_verification(workspace: UUID) -> VerificationRow | None:
    """The same of a workspace's own log."""
    table = "gp_workspace_verification"
    result = rows(_VERIFICATION.format(table=table, owner="workspace_id"), (workspace,))
    return verification_of(result[0][0]) if result else None


def verification_of(text: str | None) -> VerificationRow | None:
    """A row of a verification that was selected as JSON; None where there is none."""
    if text is None:
        return None
    row: dict[str, Any] = deltas.decode(text)
    found_at = row["found_at"]
    return VerificationRow(
        row["n_events"],
        row["intact"],
        row["broken_seq"],
        row["what"],
        row["checked_by"],
        datetime.fromisoformat(row["checked_at"]),
        None if found_at is None else datetime.fromisoformat(found_at),
        row["found_by"],
    )


def threads_to_verify(
    before: UUID, *, every_seconds: float, limit: int
) -> list[tuple[UUID, UUID, int, bool]]:
    """(thread, workspace, events verified last, whether it is due) before this id, newest first.

    Due is what was not verified for `every_seconds`, and whatever is damaged.
    """
    result = rows(
        "SELECT th.id, th.workspace_id, coalesce(k.n_events, 0), k.checked_at IS NULL "
        "OR NOT k.intact OR k.checked_at < clock_timestamp() - make_interval(secs => %s) "
        "FROM (SELECT id, workspace_id FROM gp_thread WHERE id < %s::uuid ORDER BY id DESC "
        "LIMIT %s) th LEFT JOIN gp_verification k ON k.thread_id = th.id ORDER BY th.id DESC",
        (every_seconds, before, limit),
    )
    return [(thread, workspace, seen, is_due) for thread, workspace, seen, is_due in result]


def damaged_from(thread_ids: Sequence[UUID]) -> dict[UUID, int]:
    """{thread: the first event that is broken} of those of these threads that are damaged."""
    result = rows(
        "SELECT thread_id, coalesce(broken_seq, 0) FROM gp_verification "
        "WHERE thread_id = ANY(%s::uuid[]) AND NOT intact",
        (list(thread_ids),),
    )
    return {r[0]: r[1] for r in result}


def workspaces_damaged_from(workspaces: Sequence[UUID]) -> dict[UUID, int]:
    """The same of the logs of these workspaces."""
    result = rows(
        "SELECT workspace_id, coalesce(broken_seq, 0) FROM gp_workspace_verification "
        "WHERE workspace_id = ANY(%s::uuid[]) AND NOT intact",
        (list(workspaces),),
    )
    return {r[0]: r[1] for r in result}


def damages(*, workspace: UUID | None = None, limit: int = 50) -> list[DamageRow]:
    """Damaged records of a workspace, or of all of them, the first found first."""
    result = fetch_named(
        "SELECT * FROM (SELECT 'thread' AS of, k.thread_id AS id, k.workspace_id AS workspace, "
        "coalesce(th.title, '') AS title, k.broken_seq, k.what, k.found_at, k.found_by, "
        "k.checked_at FROM gp_verification k LEFT JOIN gp_thread th ON th.id = k.thread_id "
        "WHERE NOT k.intact AND (%s::uuid IS NULL OR k.workspace_id = %s::uuid) UNION ALL "
        "SELECT 'workspace', w.id, w.id, w.name, k.broken_seq, k.what, k.found_at, k.found_by, "
        "k.checked_at FROM gp_workspace_verification k JOIN gp_workspace w "
        "ON w.id = k.workspace_id WHERE NOT k.intact AND (%s::uuid IS NULL OR w.id = %s::uuid)"
        ") d ORDER BY d.found_at LIMIT %s",
        (workspace, workspace, workspace, workspace, limit),
    )
    return [record_of(DamageRow, r) for r in result]


def integrity(*, workspace: UUID | None = None) -> IntegrityRow:
    """Count the damaged records and date the last full verification, in one workspace or in all.

    Of several workspaces the one that was verified longest ago counts.
    """
    result = fetch_named(
        "SELECT d.n AS damaged, d.at AS found_at, "
        "coalesce(sum(k.n_verified), 0)::bigint AS n_verified, "
        "CASE WHEN bool_and(k.completed_at IS NOT NULL) THEN min(k.completed_at) END "
        "AS completed_at "
        "FROM (SELECT count(*) AS n, min(found_at) AS at FROM (SELECT found_at, workspace_id "
        "FROM gp_verification WHERE NOT intact UNION ALL SELECT found_at, workspace_id "
        "FROM gp_workspace_verification WHERE NOT intact) all_of WHERE %s::uuid IS NULL "
        "OR workspace_id = %s::uuid) d CROSS JOIN gp_workspace w LEFT JOIN "
        "gp_workspace_verification k ON k.workspace_id = w.id WHERE %s::uuid IS NULL "
        "OR w.id = %s::uuid GROUP BY d.n, d.at",
        (workspace, workspace, workspace, workspace),
    )
    return record_of(IntegrityRow, result[0]) if result else IntegrityRow(0, None, 0, None)


def heads(of: str, *, workspace: UUID | None = None) -> Iterator[HeadRow]:
    """The ends of the logs of all threads or workspaces (`of`), in the order of their ids.

    Each page is a statement of its own, so that no transaction lasts; `workspace` narrows.
    """
    last = _FIRST
    while True:
        result = rows(_HEADS[of], (last, workspace, workspace, AT_ONCE))
        for ident, chain, seq, digest in result:
            yield HeadRow(of, ident, chain, seq, bytes(digest).hex())
        if len(result) < AT_ONCE:
            return
        last = result[-1][0]


def head(of: str, ident: UUID, seq: int) -> HeadRow | None:
    """The log at event `seq` (0: before the first); `hash` is empty where it has no such event.

    None when there is no such thread or workspace.
    """
    result = rows(_AT[of], (seq, ident))
    if not result:
        return None
    chain, digest = result[0]
    if seq == 0:
        return HeadRow(of, ident, chain, 0, hash=bytes(32).hex())
    return HeadRow(of, ident, chain, seq, hash="" if digest is None else bytes(digest).hex())


def ownerless_pages(table: str, of: str) -> Iterator[list[tuple[UUID, int | None]]]:
    """Pages of (id, lowest event) of owners that rows of `table` name and that have no row.

    `of` is thread or workspace; the event is None for a table that is no log. A page may be empty,
    and is read by one statement. `table` has an index that begins with its owner's id: one probe
    leads from each owner to the next, however many rows there are of each. What is created
    meanwhile is in a page whole or not at all.
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
        result = rows(sql, (last, AT_ONCE))
        yield [(ident, seq) for ident, gone, seq in result if gone]
        if len(result) < AT_ONCE:
            return
        last = result[-1][0]


def workspace_of_rows(table: str, of: str, ident: UUID) -> UUID | None:
    """The workspace that rows of `table` name whose thread, approval or workspace is gone."""
    result = rows(f"SELECT workspace_id FROM {table} WHERE {of}_id = %s::uuid LIMIT 1", (ident,))
    return result[0][0] if result else None


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
