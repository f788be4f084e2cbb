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

from checkpoints import deltas, prepared

from .queries import ApprovalRow
from .terms import terms_of

# Who may decide; the top floor's table of rights says the same.
DECIDES = "reviewer"


@dataclass(frozen=True, slots=True)
class AskedBack:
    """A question that a reviewer put to the agent instead of a verdict."""

    decision: UUID
    text: str
    by_name: str


# One vote per person: the newest. Of edits only the newest one stands, whatever it was a vote for.
_COUNTED = """
SELECT v.reviewer, v.reviewer_name FROM (
  SELECT DISTINCT ON (split_part(d.reviewer, '/', 1)) d.reviewer, d.reviewer_name, d.verdict,
    d.proposal_hash, d.id FROM gp_decision d
  WHERE d.approval_id = a.id AND d.verdict IN ('approve', 'edit', 'reject', 'take_back')
  ORDER BY split_part(d.reviewer, '/', 1), d.at DESC, d.id DESC
) v WHERE (v.verdict = 'approve'
    AND v.proposal_hash = coalesce(nullif(a.standing_hash, ''), a.proposal_hash))
  OR (v.verdict = 'edit' AND v.id = (SELECT e.id FROM gp_decision e
    WHERE e.approval_id = a.id AND e.verdict = 'edit' ORDER BY e.at DESC, e.id DESC LIMIT 1))
UNION
SELECT a.decided_by, a.decided_by_name
"""
_LOOK = """
SELECT coalesce(a.effective_at, a.decided_at) + make_interval(secs => %s) < clock_timestamp()
  AS late, c.reviewer_name AS name, coalesce(c.reviewer_name, '') = ''
  OR coalesce(u.is_active AND EXISTS (SELECT 1 FROM gp_membership m
    WHERE m.user_id = u.id AND m.workspace_id = a.workspace_id AND m.role = %s::varchar)
  AND (%s::boolean OR %s::jsonb ? u.username OR EXISTS (SELECT 1 FROM {groups} ug
    JOIN auth_group g ON g.id = ug.group_id WHERE ug.user_id = u.id AND %s::jsonb ? g.name)), false)
  AS may
FROM gp_approval a
LEFT JOIN LATERAL ({counted}) c ON c.reviewer LIKE 'user:%%'
LEFT JOIN {users} u ON u.id::text = substr(split_part(c.reviewer, '/', 1), 6)
WHERE a.id = %s::uuid ORDER BY c.reviewer_name
"""


@cache
def _look() -> str:
    people: Any = get_user_model()
    tables = {"users": people._meta.db_table, "groups": people.groups.through._meta.db_table}
    return _LOOK.format(counted=_COUNTED, **tables)


def _asked(row: ApprovalRow) -> prepared.Asked:
    """The look: a row for everybody who was counted, whether they still may, whether it is late."""
    terms = terms_of(row.terms)
    seats = [*terms.stages, *([terms.escalate_to] if terms.escalate_to else [])]
    named = [seat for seat in seats if seat.people or seat.teams]
    people = sorted({name for seat in named for name in seat.people})
    teams = sorted({name for seat in named for name in seat.teams})
    anyone = len(named) < len(seats) or not seats
    texts = [deltas.canonical(names).decode() for names in (people, teams)]
    return _look(), (terms.valid_for, DECIDES, anyone, *texts, row.id)


def holds(row: ApprovalRow) -> prepared.Asked:
    """The condition that `doubts` has none, for the very statement that lets it happen."""
    look, values = _asked(row)
    return f"NOT EXISTS (SELECT 1 FROM ({look}) r WHERE r.late OR NOT r.may)", values


def doubts(row: ApprovalRow) -> str:
    """Why what was decided may not happen any more, as a sentence; empty while it may.

    Everybody who was counted still has to be a reviewer here, and of those whom the terms name.
    A policy's own decision has no person whose rights could be withdrawn.
    """
    found = prepared.fetch(*_asked(row))
    if any(late for late, _, _ in found):
        return outlived(row, terms_of(row.terms).valid_for)
    without = [name for _, name, may in found if not may]
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
