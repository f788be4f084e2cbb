"""What a decision is still worth when it is about to be carried out, and what was asked back.

A reader for the floor that carries it out: rights and times as they are now, by the database.
"""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from checkpoints.postgres import reads as prepared
from checkpoints.postgres.named_rows import fetch_named
from checkpoints.postgres.sql_files import sql_file
from checkpoints.tables.readers import record_of

from ..queries import ApprovalRow
from ..rules.terms import terms_of
from ..states import ALLOWING
from .verdict.tallies import tally_one

SQL = sql_file(__file__)
# Who may decide; the top floor's table of rights says the same.
DECIDES = "reviewer"


@dataclass(frozen=True, slots=True)
class AskedBack:
    """A question that a reviewer put to the agent instead of a verdict."""

    decision: UUID
    text: str
    by_name: str


def _query(row: ApprovalRow) -> prepared.Query:
    """The look: a row for everybody who was counted, whether they still may, whether it is late."""
    return SQL.look, (terms_of(row.terms).valid_for, DECIDES, DECIDES, row.id)


def holds(row: ApprovalRow) -> prepared.Query:
    """The condition that it is decided and `doubts` has none, for the statement that starts it."""
    look, values = _query(row)
    doubtless = f"NOT EXISTS (SELECT 1 FROM ({look}) r WHERE r.late OR NOT r.may)"
    return f"EXISTS ({SQL.allowed}) AND {doubtless}", (row.id, list(ALLOWING), *values)


def undecided(row: ApprovalRow) -> str:
    """Explain why an action may not happen yet, as a sentence; empty once people let it."""
    if prepared.fetch(SQL.allowed, (row.id, list(ALLOWING))):
        return ""
    return "Nobody has approved it."


def doubts(row: ApprovalRow) -> str:
    """Explain why an approved action may no longer happen, as a sentence; empty while it may.

    Everybody who was counted still has to be a reviewer here, and be named by their stage or be the
    deputy of somebody it names.
    A policy's own decision has no person whose rights could be withdrawn.
    """
    rows = prepared.fetch(*_query(row))
    if not all(may for _, _, may in rows) and tally_one(row.id):
        # Former code decided it, and the sweep had not counted the votes yet.
        rows = prepared.fetch(*_query(row))
    if any(late for late, _, _ in rows):
        return outlived(row, terms_of(row.terms).valid_for)
    without = dict.fromkeys(name for _, name, may in rows if not may)
    if without:
        return f"{', '.join(without)} approved it and may no longer decide here."
    return ""


def outlived(row: ApprovalRow, valid_for: float) -> str:
    """The sentence about a decision that was carried out too late."""
    hours = f"{valid_for / 3600:g} hours" if valid_for >= 3600 else f"{valid_for:g} seconds"
    return f"{row.decided_by_name or 'Somebody'} approved it longer than {hours} ago."


def asked_back(approval: UUID) -> list[AskedBack]:
    """List the questions that reviewers asked instead of deciding, oldest first."""
    rows = fetch_named(
        "SELECT id AS decision, comment AS text, reviewer_name AS by_name FROM gp_decision "
        "WHERE approval_id = %s::uuid AND verdict = 'respond' ORDER BY at, id",
        (approval,),
    )
    return [record_of(AskedBack, row) for row in rows]
