"""Count the votes on requests that the gate did not write itself: imported or older ones."""

from __future__ import annotations

from typing import Any, Final
from uuid import UUID

from django.db import connection

from checkpoints import deltas

from ..counting import Vote, progress
from ..terms import readable_terms
from . import writing

AT_ONCE: Final = 500


def tally_of_thread(thread: UUID) -> None:
    """Write who has voted and whose turn it is into each request of a thread."""
    _tally("a.thread_id = %s::uuid", thread)


def tally_all() -> None:
    """The same for all requests that lack it; each statement is short."""
    _tally("a.tally IS NULL")


def _tally(which: str, *params: Any) -> None:
    last = UUID(int=0)
    while True:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT a.id, a.terms::text, a.status = 'pending', a.escalated_at IS NOT NULL "
                f"FROM gp_approval a WHERE {which} AND a.id > %s::uuid ORDER BY a.id LIMIT %s",
                (*params, last, AT_ONCE),
            )
            found = cursor.fetchall()
            votes = _votes([row[0] for row in found])
            for ident, terms, is_open, escalated in found:
                told = readable_terms(None if terms is None else deltas.decode(terms))
                now = progress(told, votes.get(ident, []), escalated=escalated)
                cursor.execute(
                    # The status again: somebody may have decided since it was read.
                    f"UPDATE gp_approval SET {writing.TALLY} WHERE id = %s::uuid "
                    "AND (status = 'pending') = %s::boolean",
                    (*writing.tallied(now if is_open else now.closed()), ident, is_open),
                )
        if len(found) < AT_ONCE:
            return
        last = found[-1][0]


def _votes(ids: list[UUID]) -> dict[UUID, list[Vote]]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT approval_id, id, reviewer, reviewer_name, verdict, proposal_hash "
            "FROM gp_decision WHERE approval_id = ANY(%s::uuid[]) ORDER BY at, id",
            (ids,),
        )
        votes: dict[UUID, list[Vote]] = {}
        for approval, *values in cursor.fetchall():
            votes.setdefault(approval, []).append(Vote(*values))
        return votes
