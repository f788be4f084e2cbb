"""Requests in a book: opened by a node, decided once, expired or withdrawn."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID

from uuid_utils.compat import uuid7

from approvals.errors import AlreadyDecided, ProposalChanged
from approvals.gates import (
    Proposal,
    Reviewer,
    check_verdict,
    decision_content,
    proposal_hash,
    request_seal,
)
from approvals.gates.requesting import columns_of
from approvals.queries import ApprovalRow
from checkpoints.records import Work
from checkpoints.states import EventKind, Status
from checkpoints.store import NewEvent
from checkpoints.store.writing import salted

from . import reading
from .book import Book, written

WAITING = (Status.WAITING, Status.SLEEPING)
TEXTS = ("args", "reasons", "schema", "decided_args", "terms")


def opened(book: Book, work: Work, p: Proposal) -> tuple[ApprovalRow, NewEvent]:
    """A request as it will be entered, its values as kept text, and its event."""
    deadline = None if p.expires_in is None else book.later(p.expires_in)
    digest = proposal_hash(
        workspace=work.workspace,
        thread=work.thread,
        position=p.position,
        tool=p.tool,
        args=p.args,
        agent_version=work.agent_version,
        policy_version=p.policy_version,
        deadline=deadline,
    )
    columns = columns_of(work, uuid7(), p, deadline, digest)
    otherwise = ("workspace_id", "thread_id")
    entered: dict[str, Any] = {n: v for n, v in columns.items() if n not in otherwise}
    for name in TEXTS:
        given = entered.get(name)
        entered[name] = None if given is None else written(given)
    entered |= dict.fromkeys(("outcome", "comment", "decided_by", "decided_by_name"), "")
    row = ApprovalRow(
        workspace=work.workspace,
        thread=work.thread,
        thread_title=work.title,
        agent=work.agent,
        status="pending",
        decided_at=None,
        effective_at=None,
        requested_at=book.now(),
        standing_hash=digest,
        decide_by=deadline,
        **entered,
    )
    data = {
        "approval": str(row.id),
        "title": p.title,
        "tool": p.tool,
        "node": p.position.node,
        "risk": p.risk,
        "proposal_hash": digest,
        "seal": request_seal(columns),
    }
    return row, NewEvent(EventKind.APPROVAL_REQUESTED, data, work.owner)


def decide(
    book: Book,
    ident: UUID,
    *,
    reviewer: Reviewer,
    verdict: str,
    proposal_hash: str,
    comment: str = "",
    args: Any = None,
) -> ApprovalRow:
    """Record one verdict and wake the thread; raises what `gates.decide` raises."""
    row = reading.approval(book, ident)
    check_verdict(row, verdict=verdict, comment=comment, args=args)
    with book.lock:
        now = book.now()
        kept = book.approvals[ident]
        if kept.open and kept.deadline is not None and kept.deadline <= now:
            expire_due(book)
        if not book.approvals[ident].open:
            raise AlreadyDecided(reading.approval(book, ident))
        if kept.proposal_hash != proposal_hash:
            raise ProposalChanged
        said = decision_content(
            approval=row.id,
            reviewer=reviewer.id,
            verdict=verdict,
            proposal_hash=row.proposal_hash,
            comment=comment,
            args=args,
        )
        data = {
            "approval": str(row.id),
            "decision": str(uuid7()),
            "decision_hash": salted(said)[1].hex(),
            "verdict": verdict,
            "title": row.title,
            "comment": comment,
            "by_name": reviewer.name,
            "proposal_hash": row.proposal_hash,
            "decided_at": now.isoformat(),
            "effective_at": now.isoformat(),
        }
        outcome = replace(
            kept,
            status="settled",
            outcome=verdict,
            comment=comment,
            decided_by=reviewer.id,
            decided_by_name=reviewer.name,
            decided_args=None if args is None else written(args),
            decided_at=now,
            effective_at=now,
        )
        wake(book, row.thread, NewEvent(EventKind.APPROVAL_DECIDED, data, reviewer.id), outcome)
    return reading.approval(book, ident)


def wake(book: Book, thread: UUID, event: NewEvent, outcome: ApprovalRow) -> None:
    """Enter what became of a request, raise wake_seq, queue the thread if it waits."""
    row = book.row(thread)
    waits = row.status in WAITING

    def enter(_: datetime) -> None:
        book.approvals[outcome.id] = outcome

    sets: dict[str, Any] = {"wake_seq": row.wake_seq + 1}
    if waits:
        sets["waiting_on"] = None
    else:
        sets["version"] = row.version + 1
    book.move(
        thread,
        sets=sets,
        status=Status.QUEUED if waits else None,
        reason=row.status_reason,
        events=[event],
        also=enter,
    )


def expire_due(book: Book) -> int:
    """pending -> expired for each request past its deadline, and wake its thread; how many."""
    now = book.now()
    due = [a for a in book.approvals.values() if a.open and a.deadline and a.deadline <= now]
    for a in due:
        data = {"approval": str(a.id), "title": a.title, "decided_at": now.isoformat()}
        event = NewEvent(EventKind.APPROVAL_EXPIRED, data, "sweep")
        wake(book, a.thread, event, replace(a, status="expired", decided_at=now))
    return len(due)


def withdraw_open(book: Book, thread: UUID, *, reason: str, actor: str) -> int:
    """pending -> withdrawn for each open request of a thread; how many. Wakes nobody."""
    now, gone = book.now(), [a for a in book.approvals.values() if a.thread == thread and a.open]
    for a in gone:
        book.approvals[a.id] = replace(a, status="withdrawn", comment=reason, decided_at=now)
        data = {"approval": str(a.id), "title": a.title, "reason": reason}
        data["decided_at"] = now.isoformat()
        book.move(thread, events=[NewEvent(EventKind.APPROVAL_WITHDRAWN, data, actor)])
    return len(gone)
