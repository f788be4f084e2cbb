"""What all writers of verdicts share: the lock, the row of a decision, the events' data."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from approvals import queries
from approvals.queries import ApprovalRow
from approvals.rules.headlines import named
from approvals.rules.proposals import decision_content
from approvals.rules.votes import Progress
from checkpoints import store
from checkpoints.errors import NotFound
from checkpoints.state import deltas
from checkpoints.store.statement.moves import salted

# Due requests whose thread and row nobody holds: what is locked waits for the next sweep.
DUE = f"FROM gp_approval a {store.join_thread('a.thread_id')} WHERE true"
FREE = store.lock_free("a")
# Who has voted and whose turn it is; of a closed request it is nobody's.
TALLY = "tally = %s::jsonb, due_seats = %s::text[], due_except = %s::text[]"
NOBODY_DUE = "due_seats = '{}', due_except = '{}'"
# What a request looks like that nobody has decided (any more), beside its comment and time.
BLANK = (
    "outcome = '', decided_by = '', decided_by_name = '', what_next = '', decided_args = NULL, "
    "effective_at = NULL"
)
DECISION = (
    "INSERT INTO gp_decision (id, workspace_id, approval_id, reviewer, reviewer_name, verdict, "
    "proposal_hash, comment, args, what_next, for_person, salt, hash, at) SELECT %s::uuid, "
    "won.workspace_id, won.id, %s::varchar, %s::varchar, %s::varchar, %s::varchar, %s::text, "
    "%s::jsonb, %s::varchar, %s::varchar, %s::bytea, %s::bytea, won.at FROM won"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewDecision:
    """A decision about to be recorded; `proposal_hash` is the one that it names."""

    id: UUID
    approval: UUID
    reviewer: str
    name: str
    verdict: str
    proposal_hash: str
    comment: str = ""
    args: Any = None
    what_next: str = ""
    for_person: str = ""

    def sealed(self) -> tuple[bytes, tuple[Any, ...]]:
        """Make its hash, with a new salt, and the parameters of DECISION."""
        content = decision_content(
            approval=self.approval,
            reviewer=self.reviewer,
            verdict=self.verdict,
            proposal_hash=self.proposal_hash,
            comment=self.comment,
            args=self.args,
            what_next=self.what_next,
            for_person=self.for_person,
        )
        salt, digest = salted(content)
        return digest, (
            self.id,
            self.reviewer,
            self.name,
            self.verdict,
            self.proposal_hash,
            self.comment,
            as_json(self.args),
            self.what_next,
            self.for_person,
            salt,
            digest,
        )


def as_json(value: Any) -> str | None:
    """A value for a jsonb parameter; None is SQL's NULL."""
    return None if value is None else deltas.canonical(value).decode()


def tallied(progress: Progress) -> tuple[Any, ...]:
    """The parameters of TALLY."""
    return as_json(progress.to_json()), list(progress.due_seats), list(progress.due_except)


def iso(at: datetime | None) -> str | None:
    """A time for the data of an event."""
    return None if at is None else at.isoformat()


def locked(approval_id: UUID, *, workspace: UUID) -> ApprovalRow:
    """The request as of before the lock on its thread was granted; raises NotFound."""
    rows = queries.requests(
        f"WHERE a.id = %s::uuid AND a.workspace_id = %s::uuid {store.LOCK_THREAD}",
        (approval_id, workspace),
    )
    if not rows:
        raise NotFound("There is no such request in this workspace.")
    return rows[0]


def decided(
    row: ApprovalRow,
    *,
    decision: UUID,
    digest: bytes,
    verdict: str,
    by_name: str,
    held: bool = False,
    seen: str = "",
    void: int = 0,
    confirmed_at: str = "",
    for_person: str = "",
) -> dict[str, Any]:
    """The data of `approval.decided`; `row` is the request as decided."""
    data: dict[str, Any] = {
        "approval": str(row.id),
        "decision": str(decision),
        "decision_hash": digest.hex(),
        "verdict": verdict,
        **named(row.title, row.shown_sentence),
        "comment": row.comment,
        "by_name": by_name,
        "proposal_hash": row.standing_hash,
        "decided_at": iso(row.decided_at),
        "effective_at": iso(row.effective_at),
    }
    if row.outcome != verdict:
        data["outcome"] = row.outcome
    if row.what_next:
        data["what_next"] = row.what_next
    if confirmed_at:
        data["confirmed_at"] = confirmed_at
    data |= {"for": for_person} if for_person else {}
    data |= {"blocked": True} if row.blocked else {}
    return data | ({"held": True} if held else {}) | edited(verdict, row.standing_hash, seen, void)


def recorded(
    row: ApprovalRow,
    *,
    decision: UUID,
    digest: bytes,
    verdict: str,
    comment: str,
    by_name: str,
    at: datetime,
    seen: str = "",
    void: int = 0,
    confirmed_at: str = "",
    missing: int | None = None,
    for_person: str = "",
) -> dict[str, Any]:
    """The data of `decision.recorded`: a vote that does not complete, or a question."""
    data: dict[str, Any] = {
        "approval": str(row.id),
        "decision": str(decision),
        "decision_hash": digest.hex(),
        "verdict": verdict,
        **named(row.title, row.shown_sentence),
        "comment": comment,
        "by_name": by_name,
        "proposal_hash": row.standing_hash,
        "at": at.isoformat(),
    }
    data |= {"for": for_person} if for_person else {}
    if missing is not None:
        data["missing"] = missing
    if confirmed_at:
        data["confirmed_at"] = confirmed_at
    return data | edited(verdict, row.standing_hash, seen, void)


def edited(verdict: str, standing_hash: str, seen: str, void: int) -> dict[str, Any]:
    """The fields that an edit adds to the data of its event."""
    if verdict != "edit":
        return {}
    return {"standing_hash": standing_hash, "seen": seen, "void": void}


def refused(row: ApprovalRow, *, verdict: str, why: str, by_name: str) -> dict[str, Any]:
    """The data of `decision.refused`."""
    return {
        "approval": str(row.id),
        **named(row.title, row.shown_sentence),
        "verdict": verdict,
        "reason": why,
        "by_name": by_name,
    }


def ended(ident: UUID, title: str, at: datetime, **more: Any) -> dict[str, Any]:
    """The data of `approval.expired` and `approval.withdrawn`."""
    return {"approval": str(ident), "title": title, **more, "decided_at": at.isoformat()}
