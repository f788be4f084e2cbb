"""Who has voted on requests whose votes nobody counted yet: imported ones, those of former code.

The sweep writes the count soon; until then readers count for themselves, by the one rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection

from .rules.terms import readable_terms
from .rules.votes import Progress, Vote, progress


class Uncounted(NamedTuple):
    """A request without a count; `terms` as they are stored."""

    id: UUID
    terms: Any
    is_open: bool
    escalated: bool


def count_votes(requests: Sequence[Uncounted]) -> dict[UUID, Progress]:
    """Count the votes on these requests: one statement, none without any."""
    votes = _votes([one.id for one in requests]) if requests else {}
    results = {}
    for one in requests:
        terms = readable_terms(one.terms)
        now = progress(terms, votes.get(one.id, ()), escalated=one.escalated)
        results[one.id] = now if one.is_open else now.closed()
    return results


def _votes(ids: list[UUID]) -> dict[UUID, list[Vote]]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT approval_id, id, reviewer, reviewer_name, verdict, proposal_hash, for_person "
            "FROM gp_decision WHERE approval_id = ANY(%s::uuid[]) ORDER BY at, id",
            (ids,),
        )
        votes: dict[UUID, list[Vote]] = {}
        for approval, ident, reviewer, name, verdict, digest, for_person in cursor.fetchall():
            vote = Vote(ident, reviewer, name, verdict, digest, for_person=for_person)
            votes.setdefault(approval, []).append(vote)
        return votes
