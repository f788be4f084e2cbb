"""What a decision is still worth when it is about to be carried out, and what was asked back.

A reader for the floor that carries it out: rights and times as they are now, by the database.
"""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from django.contrib.auth import get_user_model
from django.db import connection

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
_DOUBTS = """
SELECT coalesce(a.effective_at, a.decided_at) + make_interval(secs => %s) < clock_timestamp(),
  (SELECT string_agg(DISTINCT c.reviewer_name, ', ') FROM ({counted}) c
   WHERE c.reviewer LIKE 'user:%%' AND NOT EXISTS (
     SELECT 1 FROM gp_membership m JOIN {users} u ON u.id = m.user_id
     WHERE m.workspace_id = a.workspace_id AND m.role = %s AND u.is_active
     AND u.id::text = substr(split_part(c.reviewer, '/', 1), 6)))
FROM gp_approval a WHERE a.id = %s::uuid
"""


def doubts(row: ApprovalRow) -> str:
    """Why what was decided may not happen any more, as a sentence; empty while it may.

    A policy's own decision has no person whose rights could be withdrawn.
    """
    valid_for = terms_of(row.terms).valid_for
    sql = _DOUBTS.format(counted=_COUNTED, users=get_user_model()._meta.db_table)
    with connection.cursor() as cursor:
        cursor.execute(sql, (valid_for, DECIDES, row.id))
        late, without = cursor.fetchone()
    if late:
        return outlived(row, valid_for)
    if without:
        return f"{without} approved it and may not decide here any more."
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
