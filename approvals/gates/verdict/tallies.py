"""Count the votes on requests that the gate did not write itself: imported or older ones."""

from __future__ import annotations

from typing import Any, Final
from uuid import UUID

from django.db import connection, transaction

from approvals.uncounted import Uncounted, count_votes
from checkpoints.postgres.guarded_rows import handle_rows, not_set_aside
from checkpoints.state import deltas

from . import decision_rows

AT_ONCE: Final = 500


def tally_of_thread(thread: UUID) -> None:
    """Write who has voted and whose turn it is into each request of a thread."""
    _tally("a.thread_id = %s::uuid", thread)


def tally_all() -> None:
    """The same for all requests that lack it; each transaction is short."""
    _tally("a.tally IS NULL")


def tally_due(*, limit: int = 200) -> int:
    """The same for some that processes of a former release wrote; how many."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT a.id, a.thread_id {decision_rows.DUE} AND a.tally IS NULL "
            f"AND {not_set_aside('counted', 'a.id')} ORDER BY a.id LIMIT %s {decision_rows.FREE}",
            (limit,),
        )
        due: list[tuple[UUID, UUID]] = cursor.fetchall()
    return handle_rows("counted", due, _tally_one)


def _tally_one(due: tuple[UUID, UUID]) -> bool:
    return tally_one(due[0])


def tally_one(approval: UUID) -> bool:
    """The same for one request; whether it lacked a count."""
    return _tally("a.tally IS NULL AND a.id = %s::uuid", approval) > 0


def _tally(which: str, *params: Any) -> int:
    """Count the votes in batches; returns the number of requests."""
    last, counted = UUID(int=0), 0
    while True:
        with transaction.atomic():
            result = _tally_some(which, *params, last)
        counted += len(result)
        if len(result) < AT_ONCE:
            return counted
        last = result[-1]


def _tally_some(which: str, *params: Any) -> list[UUID]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT a.id, a.terms::text, a.status = 'pending', a.escalated_at IS NOT NULL "
            f"FROM gp_approval a WHERE {which} AND a.id > %s::uuid ORDER BY a.id LIMIT %s "
            # Locked before its votes are read: a vote changes its request first.
            "FOR NO KEY UPDATE",
            (*params, AT_ONCE),
        )
        rows = cursor.fetchall()
        uncounted = [
            Uncounted(ident, None if terms is None else deltas.decode(terms), *rest)
            for ident, terms, *rest in rows
        ]
        counted = count_votes(uncounted)
        written = [(*decision_rows.tallied(now), ident) for ident, now in counted.items()]
        cursor.executemany(
            f"UPDATE gp_approval SET {decision_rows.TALLY} WHERE id = %s::uuid", written
        )
    return [row[0] for row in rows]
