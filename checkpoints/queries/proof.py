"""What verifications and anchors read: all threads and workspaces by keyset, ends of logs."""

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
