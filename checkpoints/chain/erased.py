"""Verify a thread whose content was erased: its chain, what is left of its rows, and who erased it.

Content and salts are gone, hashes are not: each event still links to the one before it. The rows
that are left are hashed and compared with the workspace's log, which recorded that hash when the
content went. That log is verified with the workspace.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import connection

from ..log.remains import remains_of
from ..state import deltas
from ..states import WorkspaceEventKind as K
from .events import Log
from .links import Broken, fits, link


@dataclass(frozen=True, slots=True)
class Erasure:
    """The recorded facts of a thread's erasure."""

    id: UUID
    remains: str
    sentence: str


def erasure_of(thread: UUID) -> Erasure | None:
    """The erasure whose mark a thread carries, where its content is gone."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT d.erasure_id, d.remains, r.requested_by, r.requested_by_name, r.decided_by, "
            "r.decided_by_name, r.reason, r.rule FROM gp_erased d LEFT JOIN gp_erasure r "
            "ON r.id = d.erasure_id WHERE d.id = %s::uuid",
            (thread,),
        )
        row = cursor.fetchone()
    if row is None:
        return None
    ident, remains, by, by_name, approved_by, approved_by_name, reason, rule = row
    who = f"{by_name} ({by})" if rule is None else by_name
    approved = f", approved by {approved_by_name} ({approved_by})" if approved_by else ""
    return Erasure(ident, remains, f"Erased by {who}{approved}: {reason}")


def verify_erased(log: Log, erasure: Erasure) -> Generator[int]:
    """Check the chain and what is left, yielding after each batch of events; raises Broken."""
    log.erased = True
    for batch in log.batches():
        for event in batch:
            log.check(event)
        yield log.n_verified
    log.check_end()
    recorded = _recorded(log)
    if recorded is None or recorded["erasure"] != str(erasure.id):
        raise Broken(log.last_seq, "its content is gone, and no event of the workspace records it")
    if (recorded["last_seq"], recorded["last_hash"]) != (log.last_seq, log.last_hash.hex()):
        raise Broken(log.last_seq, "its log does not end where it ended when it was erased")
    if not recorded["remains"] == erasure.remains == remains_of(log.ident):
        raise Broken(log.last_seq, "what the erasure left of it was altered")
    if _is_searched(log.ident):  # a column that came later than the hash of what is left
        raise Broken(log.last_seq, "what it was searched by was put back")


def _is_searched(thread: UUID) -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT searchable FROM gp_thread WHERE id = %s::uuid", (thread,))
        row = cursor.fetchone()
    return row is not None and row[0] is not None


def _recorded(log: Log) -> dict[str, Any] | None:
    """The data of the workspace's event that records the erasure; raises Broken if altered."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT e.seq, e.kind, e.v, e.actor, e.data::text, e.salt, e.data_hash, e.at, "
            "e.prev_hash, e.hash, w.chain_id FROM gp_workspace_event e JOIN gp_workspace w "
            "ON w.id = e.workspace_id WHERE e.workspace_id = %s::uuid AND e.kind = %s::text "
            "AND e.data ->> 'thread' = %s::text ORDER BY e.seq LIMIT 1",
            (log.workspace, str(K.THREAD_ERASED), str(log.ident)),
        )
        row = cursor.fetchone()
    if row is None:
        return None
    seq, kind, v, actor, data, salt, data_hash, at, prev_hash, digest, chain = row
    expected = link(
        chain=chain,
        seq=seq,
        kind=kind,
        v=v,
        actor=actor,
        at=at,
        data_hash=bytes(data_hash),
        prev_hash=bytes(prev_hash),
    )
    if fits(log.last_seq, bytes(salt), data) != bytes(data_hash) or expected != bytes(digest):
        raise Broken(
            log.last_seq, "the event of the workspace that records its erasure was altered"
        )
    payload: dict[str, Any] = deltas.decode(data)
    return payload
