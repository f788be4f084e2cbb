"""What a decision is still worth when it is about to be carried out, and what was asked back.

A reader for the floor that carries it out: rights and times as they are now, by the database.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any
from uuid import UUID

from django.contrib.auth import get_user_model
from django.db import connection

from checkpoints.postgres import reads as prepared

from ..queries import ApprovalRow
from ..rules.terms import terms_of
from .verdict.tallies import tally_one

# Who may decide; the top floor's table of rights says the same.
DECIDES = "reviewer"


@dataclass(frozen=True, slots=True)
class AskedBack:
    """A question that a reviewer put to the agent instead of a verdict."""

    decision: UUID
    text: str
    by_name: str


# The people whose votes count with the seats of their stage, as the gate wrote it; and who decided:
# an answer to a question is no vote.
_COUNTED = """
SELECT given ->> 'person' AS person, given ->> 'name' AS name, stage -> 'seats' AS seats
FROM jsonb_path_query(a.tally, '$.stages[*]') stage, jsonb_path_query(stage, '$.given[*]') given
UNION
SELECT split_part(a.decided_by, '/', 1), a.decided_by_name,
  jsonb_path_query_array(a.tally, '$.stages[*].seats[*]')
"""
_LOOK = """
SELECT coalesce(a.effective_at, a.decided_at) + make_interval(secs => %s) < clock_timestamp()
  AS late, c.name AS name, coalesce(c.name, '') = ''
  OR coalesce(u.is_active AND EXISTS (SELECT 1 FROM gp_membership m
    WHERE m.user_id = u.id AND m.workspace_id = a.workspace_id AND m.role = %s::varchar)
  AND (c.seats ? '*' OR c.seats ? ('user:' || u.username) OR EXISTS (SELECT 1 FROM {groups} ug
    JOIN auth_group g ON g.id = ug.group_id
    WHERE ug.user_id = u.id AND c.seats ? ('team:' || g.name))), false) AS may
FROM gp_approval a
LEFT JOIN LATERAL ({counted}) c ON c.person LIKE 'user:%%'
LEFT JOIN {users} u ON u.id::text = substr(c.person, 6)
WHERE a.id = %s::uuid ORDER BY c.name
"""


@cache
def _look() -> str:
    people: Any = get_user_model()
    tables = {"users": people._meta.db_table, "groups": people.groups.through._meta.db_table}
    return _LOOK.format(counted=_COUNTED, **tables)


def _asked(row: ApprovalRow) -> prepared.Asked:
    """The look: a row for everybody who was counted, whether they still may, whether it is late."""
    return _look(), (terms_of(row.terms).valid_for, DECIDES, row.id)


def holds(row: ApprovalRow) -> prepared.Asked:
    """The condition that `doubts` has none, for the very statement that lets it happen."""
    look, values = _asked(row)
    return f"NOT EXISTS (SELECT 1 FROM ({look}) r WHERE r.late OR NOT r.may)", values


def doubts(row: ApprovalRow) -> str:
    """Why what was decided may not happen any more, as a sentence; empty while it may.

    Everybody who was counted still has to be a reviewer here, and one of those whom their stage
    names.
    A policy's own decision has no person whose rights could be withdrawn.
    """
    found = prepared.fetch(*_asked(row))
    if not all(may for _, _, may in found) and tally_one(row.id):
        # Former code decided it, and the sweep had not counted the votes yet.
        found = prepared.fetch(*_asked(row))
    if any(late for late, _, _ in found):
        return outlived(row, terms_of(row.terms).valid_for)
    without = dict.fromkeys(name for _, name, may in found if not may)
    if without:
        return f"{', '.join(without)} approved it and may not decide here any more."
    return ""


def outlived(row: ApprovalRow, valid_for: float) -> str:
    """The sentence about a decision that was carried out too late."""
    hours = f"{valid_for / 3600:g} hours" if valid_for >= 3600 else f"{valid_for:g} seconds"
    return f"{row.decided_by_name or 'Somebody'} approved it longer than {hours} ago."


def asked_back(approval: UUID) -> list[AskedBack]:
    """What reviewers asked instead of deciding, oldest first."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT id, comment, reviewer_name FROM gp_decision WHERE approval_id = %s::uuid "
            "AND verdict = 'respond' ORDER BY at, id",
            (approval,),
        )
        return [AskedBack(*row) for row in cursor.fetchall()]
