"""People who decide, and requests on terms, for the tests of this floor."""

from __future__ import annotations

from typing import Any

from approvals import gates, queries
from approvals.gates import Proposal, Reviewer
from approvals.queries import ApprovalRow
from approvals.rules.terms import Seat, Terms
from checkpoints.records import Work
from tests.unit.checkpoints.builders import drive, make_thread, one, rows

from .gates.test_gates import gate

MIRA = Reviewer("user:2", "Mira", "mira", ("finance",))
OMAR = Reviewer("user:3", "Omar", "omar", ("finance", "legal"))
LENA = Reviewer("user:4", "Lena", "lena", ("legal",))
BOSS = Reviewer("user:9", "Bea", "boss", ())
SCHEMA = {
    "type": "object",
    "properties": {"report": {"type": "string"}, "price": {"type": "string"}},
    "required": ["report", "price"],
    "additionalProperties": False,
}
NEW = {"report": "Tides", "price": "11.00"}


def two(**more: Any) -> Terms:
    """Any two reviewers."""
    return Terms(stages=(Seat(count=2),), **more)


def open_request(
    terms: Terms | None = None, *, work: Work | None = None, **more: Any
) -> ApprovalRow:
    """A thread that waits for one request on these terms."""
    work = work or drive(make_thread(), 1).work
    version = {"policy_version": "p@1"} if terms else {}
    proposal: Proposal = gate(work, terms=terms, schema=SCHEMA, **(version | more))
    assert gates.request(work, [proposal], waiting_on={"gate": proposal.title})
    [row] = queries.for_thread(work.thread, open_only=True)
    return row


def now(row: ApprovalRow) -> ApprovalRow:
    return queries.approval(row.id, workspace=row.workspace)


def say(row: ApprovalRow, who: Reviewer, verdict: str = "approve", **more: Any) -> ApprovalRow:
    """What somebody says to the request as it stands."""
    seen = more.pop("proposal_hash", None) or now(row).standing_hash
    return gates.decide(
        row.id,
        workspace=row.workspace,
        reviewer=who,
        verdict=verdict,
        proposal_hash=seen,
        **more,
    )


def back(row: ApprovalRow, who: Reviewer) -> ApprovalRow:
    return gates.take_back(row.id, workspace=row.workspace, reviewer=who)


def let_pass(row: ApprovalRow) -> None:
    """The time in which a decision can be taken back is over; the deadline as well."""
    rows(
        "UPDATE gp_approval SET effective_at = effective_at - interval '1 hour', "
        "decide_by = coalesce(decide_by, deadline) - interval '2 hours' WHERE id = %s::uuid",
        [row.id],
    )


def news(kind: str) -> int:
    """How many of a kind the outbox holds."""
    return int(one("SELECT count(*) FROM gp_outbox WHERE kind = %s::varchar", [kind]))
