"""Requests in memory: opened by a node, decided once, taken back, expired or withdrawn.

What a verdict does is judged by the very functions that judge it in the database.
"""

from __future__ import annotations

from dataclasses import astuple, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from uuid_utils.compat import uuid7

from approvals.columns import APPROVAL
from approvals.errors import AlreadyDecided, FourEyes, ProposalChanged
from approvals.gates import (
    Proposal,
    Reviewer,
    check_verdict,
    deadlines,
    decision_content,
    proposal_hash,
    undo_window,
)
from approvals.gates.requests import columns_of, request_event
from approvals.gates.verdict import decision_rows
from approvals.gates.verdict.judgement import Judged, judge, window_of
from approvals.queries import ApprovalRow
from approvals.rules.terms import Terms, terms_of
from approvals.rules.votes import Progress, Vote, person, progress, standing_edit
from approvals.states import GO_ON, NOBODY, UNSETTLED
from checkpoints.records import Work
from checkpoints.states import EventKind as K
from checkpoints.states import Status
from checkpoints.store import NewEvent
from checkpoints.store.statement.moves import salted

from . import reads as reading
from .tables import MemoryTables, written

WAITING = (Status.WAITING, Status.SLEEPING)
SWEEP = "sweep"
NOBODY_DUE: dict[str, Any] = {"due_seats": [], "due_except": []}
BLANK: dict[str, Any] = {
    "outcome": "",
    "decided_by": "",
    "decided_by_name": "",
    "what_next": "",
    "decided_args": None,
    "effective_at": None,
}


def opened(tables: MemoryTables, work: Work, p: Proposal) -> tuple[ApprovalRow, NewEvent]:
    """A request as it will be entered, its values as kept text, and its event."""
    deadline = None if p.expires_in is None else tables.later(p.expires_in)
    digest = proposal_hash(
        workspace=work.workspace,
        thread=work.thread,
        position=p.position,
        tool=p.tool,
        args=p.args,
        agent_version=work.agent_version,
        policy_version=p.policy_version,
        deadline=deadline,
        origin=p.origin,
    )
    columns = columns_of(work, uuid7(), p, deadline, digest)
    otherwise = ("workspace_id", "thread_id")
    entered: dict[str, Any] = {n: v for n, v in columns.items() if n not in otherwise}
    for name in APPROVAL.sealed.json:
        entered[name] = None if entered[name] is None else written(entered[name])
    entered |= dict.fromkeys(("outcome", "comment", "decided_by", "decided_by_name"), "")
    row = ApprovalRow(
        workspace=work.workspace,
        thread=work.thread,
        thread_title=work.title,
        agent=work.agent,
        status="pending",
        decided_at=None,
        decided_args=None,
        effective_at=None,
        requested_at=tables.now(),
        standing_hash=digest,
        decide_by=deadline,
        **_columns(progress(p.terms or Terms(), ())),
        **entered,
    )
    return row, request_event(columns, actor=work.owner, asks=p.asks)


def decided_by_policy(
    tables: MemoryTables, work: Work, p: Proposal
) -> tuple[ApprovalRow, list[NewEvent]]:
    """A request that its policy decides, settled as it will be entered, and its two events."""
    row, request = opened(tables, work, p)
    by, name, verdict, comment = astuple(p.verdict)
    vote = Vote(uuid7(), by, name, verdict, row.standing_hash, comment, at=row.requested_at)
    tables.votes[row.id] = [vote]
    row = replace(
        row,
        **_columns(progress(p.terms or Terms(), [vote]).closed()),
        status="settled",
        outcome=verdict,
        comment=comment,
        decided_by=by,
        decided_by_name=name,
        decided_at=row.requested_at,
        effective_at=row.requested_at,
    )
    data = decision_rows.decided(
        row,
        decision=vote.decision,
        digest=digest_of(row.id, vote),
        verdict=verdict,
        by_name=name,
    )
    return row, [request, NewEvent(K.APPROVAL_DECIDED, data, by)]


def decide(
    tables: MemoryTables,
    ident: UUID,
    *,
    reviewer: Reviewer,
    verdict: str,
    proposal_hash: str,
    comment: str = "",
    args: Any = None,
    what_next: str = "",
) -> ApprovalRow:
    """Record one verdict and what follows; raises what `gates.decide` raises.

    A rejection that ends the thread only says so: anyone who plays ends it.
    """
    row = reading.approval(tables, ident)
    check_verdict(row, verdict=verdict, comment=comment, args=args, what_next=what_next)
    with tables.lock:
        settle_due(tables)
        expire_due(tables)
        row = reading.approval(tables, ident)
        if not row.open:
            raise AlreadyDecided(row)
        if row.standing_hash != proposal_hash:
            raise ProposalChanged
        decision = uuid7()
        try:
            judged = judge(
                row,
                tables.votes.get(ident, []),
                reviewer=reviewer,
                decision=decision,
                verdict=verdict,
                args=args,
            )
        except FourEyes as error:
            data = decision_rows.refused(
                row, verdict=verdict, why=error.message, by_name=reviewer.name
            )
            tables.move(row.thread, events=[NewEvent(K.DECISION_REFUSED, data, reviewer.id)])
            raise
        vote = Vote(
            decision,
            reviewer.id,
            reviewer.name,
            verdict,
            judged.hash,
            comment,
            what_next,
            tables.now(),
            args=args,
        )
        _vote(tables, row, vote, judged)
    return reading.approval(tables, ident)


def _vote(tables: MemoryTables, row: ApprovalRow, vote: Vote, judged: Judged) -> None:
    """Enter a vote, its event, and the outcome where there is one."""
    seen, at = row.standing_hash, vote.at or tables.now()
    saved = tables.approvals[row.id]
    if judged.edit is not None:
        current, named = judged.edit
        saved = replace(saved, standing_args=written(current), standing_hash=named)
        row = replace(row, standing_args=current, standing_hash=named)
    payload: dict[str, Any] = {
        "decision": vote.decision,
        "digest": digest_of(row.id, vote),
        "verdict": vote.verdict,
        "by_name": vote.reviewer_name,
        "seen": seen,
        "void": judged.void,
    }
    tables.votes.setdefault(row.id, []).append(vote)
    saved = replace(saved, **_columns(judged.progress))
    if not judged.outcome:
        missing = None if judged.asks else judged.progress.missing
        data = decision_rows.recorded(row, comment=vote.comment, at=at, missing=missing, **payload)
        event = NewEvent(K.DECISION_RECORDED, data, vote.reviewer)
        _enter(tables, saved, event, wakes=judged.asks)
        return
    window = window_of(row, author=False)
    outcome: dict[str, Any] = {
        "status": "held" if window else "settled",
        "outcome": judged.outcome,
        "comment": vote.comment,
        "decided_by": vote.reviewer,
        "decided_by_name": vote.reviewer_name,
        "what_next": vote.what_next,
        "decided_at": at,
        "effective_at": at + timedelta(seconds=window),
    }
    data = decision_rows.decided(replace(row, **outcome), held=bool(window), **payload)
    value = judged.decided_args
    saved = replace(saved, **outcome, decided_args=None if value is None else written(value))
    event = NewEvent(K.APPROVAL_DECIDED, data, vote.reviewer)
    _enter(tables, saved, event, wakes=not window and not _ends(saved))


def take_back(tables: MemoryTables, ident: UUID, *, reviewer: Reviewer) -> ApprovalRow:
    """held -> pending, by who decided it; raises what `gates.take_back` raises."""
    with tables.lock:
        row, now = reading.approval(tables, ident), tables.now()
        mine = person(row.decided_by) == person(reviewer.id)
        if row.status != "held" or not mine or not row.effective_at or row.effective_at <= now:
            raise undo_window.nothing(row, reviewer)
        votes = tables.votes[ident]
        gone = undo_window.taking_back(reviewer)
        current = standing_edit([*votes, gone])
        then = progress(terms_of(row.terms), [*votes, gone], escalated=bool(row.escalated_at))
        vote = Vote(
            uuid7(), reviewer.id, reviewer.name, undo_window.TAKE_BACK, row.standing_hash, at=now
        )
        data = undo_window.taken_back(
            row,
            decision=vote.decision,
            digest=digest_of(ident, vote),
            by_name=reviewer.name,
            at=now,
            vote=current,
        )
        votes.append(vote)
        saved = replace(
            tables.approvals[ident],
            **BLANK,
            **_columns(then),
            status="pending",
            comment="",
            decided_at=None,
            standing_args=None if current is None else written(current.args),
            standing_hash=row.proposal_hash if current is None else current.proposal_hash,
        )
        event = NewEvent(K.DECISION_TAKEN_BACK, data, reviewer.id)
        _enter(tables, saved, event, wakes=False)
    return reading.approval(tables, ident)


def settle_due(tables: MemoryTables) -> int:
    """held -> settled for each decision that counts from now on; how many."""
    now = tables.now()
    due = [
        a
        for a in tables.approvals.values()
        if a.status == "held" and a.effective_at and a.effective_at <= now
    ]
    for a in due:
        event = NewEvent(K.APPROVAL_SETTLED, undo_window.settled(a), SWEEP)
        _enter(tables, replace(a, status="settled"), event, wakes=not _ends(a))
    return len(due)


def hold_ends(tables: MemoryTables, thread: UUID) -> bool:
    """Let the clock run to where a decision of this thread counts; False: none is held."""
    held = [a for a in tables.approvals.values() if a.thread == thread and a.status == "held"]
    for a in held:
        if a.effective_at is not None:
            tables.pass_time((a.effective_at - tables.now()).total_seconds() + 0.001)
    return bool(held and settle_due(tables))


def _columns(now: Progress) -> dict[str, Any]:
    """The votes and the turn as rows keep them."""
    columns = now.columns
    return columns | {"tally": written(columns["tally"])}


def digest_of(approval: UUID, vote: Vote) -> bytes:
    """The hash of a decision, with a new salt."""
    message = decision_content(
        approval=approval,
        reviewer=vote.reviewer,
        verdict=vote.verdict,
        proposal_hash=vote.proposal_hash,
        comment=vote.comment,
        args=vote.args,
        what_next=vote.what_next,
    )
    return salted(message)[1]


def _ends(row: ApprovalRow) -> bool:
    return row.outcome == "reject" and row.what_next not in ("", GO_ON)


def _enter(tables: MemoryTables, row: ApprovalRow, event: NewEvent, *, wakes: bool) -> None:
    if wakes:
        wake(tables, row.thread, event, row)
    else:
        tables.approvals[row.id] = row
        tables.move(row.thread, events=[event])


def wake(tables: MemoryTables, thread: UUID, event: NewEvent, outcome: ApprovalRow) -> None:
    """Enter the outcome of a request, raise wake_seq, queue the thread if it waits."""
    row = tables.row(thread)
    waits = row.status in WAITING

    def enter(_: datetime) -> None:
        tables.approvals[outcome.id] = outcome

    sets: dict[str, Any] = {"wake_seq": row.wake_seq + 1}
    if waits:
        sets["waiting_on"] = None
    else:
        sets["version"] = row.version + 1
    tables.move(
        thread,
        sets=sets,
        status=Status.QUEUED if waits else None,
        reason=row.status_reason,
        events=[event],
        also=enter,
    )


def expire_due(tables: MemoryTables) -> int:
    """Each open request past its time goes where its terms say, as in the database; how many."""
    now = tables.now()
    due = [a for a in tables.approvals.values() if a.open and a.decide_by and a.decide_by <= now]
    for a in due:
        row = reading.approval(tables, a.id)
        terms = terms_of(row.terms)
        if terms.on_expiry == "escalate" and a.escalated_at is None:
            later = now + timedelta(seconds=terms.escalate_for)
            data = deadlines.escalated(replace(row, escalated_at=now, decide_by=later))
            event = NewEvent(K.APPROVAL_ESCALATED, data, SWEEP)
            then = progress(terms, tables.votes.get(a.id, []), escalated=True)
            called = replace(a, escalated_at=now, decide_by=later, **_columns(then))
            _enter(tables, called, event, wakes=False)
        elif terms.on_expiry == "reject":
            by, name = f"policy:{row.policy_version}", deadlines.policy_name(row)
            vote = Vote(uuid7(), by, name, "reject", row.standing_hash, NOBODY, at=now)
            judged = Judged("reject", row.standing_hash, row.progress.closed())
            _vote(tables, replace(row, terms=None), vote, judged)
        else:
            event = NewEvent(K.APPROVAL_EXPIRED, decision_rows.ended(a.id, a.title, now), SWEEP)
            wake(
                tables, a.thread, event, replace(a, **NOBODY_DUE, status="expired", decided_at=now)
            )
    return len(due)


def withdraw_open(tables: MemoryTables, thread: UUID, *, reason: str, actor: str) -> int:
    """pending or held -> withdrawn for each request of a thread; how many. Wakes nobody."""
    now = tables.now()
    gone = [a for a in tables.approvals.values() if a.thread == thread and a.status in UNSETTLED]
    for a in gone:
        tables.approvals[a.id] = replace(
            a, **BLANK, **NOBODY_DUE, status="withdrawn", comment=reason, decided_at=now
        )
        data = decision_rows.ended(a.id, a.title, now, reason=reason)
        tables.move(thread, events=[NewEvent(K.APPROVAL_WITHDRAWN, data, actor)])
    return len(gone)
