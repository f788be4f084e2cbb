"""Verdicts, withdrawals and expiry: each a compare-and-swap on the row, then the thread's event.

Whoever comes second learns what the first one decided. Locks are taken thread first, then
approval, everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

import jsonschema
from django.db import connection, transaction
from uuid_utils.compat import uuid7

from checkpoints import deltas, store
from checkpoints.errors import InvalidValue
from checkpoints.records import Position
from checkpoints.states import EventKind
from checkpoints.store.writing import salted

from .. import queries
from ..errors import AlreadyDecided, ProposalChanged, VerdictRefused
from ..queries import ApprovalRow
from ..terms import terms_of
from .proposals import decision_content
from .proposals import proposal_hash as hashed

COMMENT_MAX = 5_000


@dataclass(frozen=True, slots=True)
class Reviewer:
    """Who decides, as the log shall name them."""

    id: str
    name: str
    user: str = ""
    teams: tuple[str, ...] = ()


def decide(
    approval_id: UUID,
    *,
    workspace: UUID,
    reviewer: Reviewer,
    verdict: str,
    proposal_hash: str,
    comment: str = "",
    args: Any = None,
    what_next: str = "",
) -> ApprovalRow:
    """Record one verdict; LOCAL stand-in of part 5, the merge takes part DECIDING's."""
    row = queries.approval(approval_id, workspace=workspace)
    check_verdict(row, verdict=verdict, comment=comment, args=args)
    deltas.check(proposal_hash, "proposal_hash")
    terms = terms_of(row.terms)
    person = reviewer.id.partition("/token:")[0]
    if person in terms.barred:
        raise VerdictRefused("Four eyes: you had a part in this, so somebody else has to decide.")
    edited = verdict == "edit"
    standing = proposal_hash
    if edited:
        standing = hashed(
            workspace=row.workspace,
            thread=row.thread,
            position=Position(row.branch, row.step, row.node, row.index, row.key),
            tool=row.tool,
            args=args,
            agent_version=row.agent_version_id,
            policy_version=row.policy_version,
            deadline=row.deadline,
        )
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM gp_thread WHERE id = %s::uuid FOR UPDATE", (row.thread,))
        cursor.execute(
            "SELECT 1 FROM gp_approval WHERE id = %s::uuid AND status = 'pending' AND "
            "coalesce(nullif(standing_hash, ''), proposal_hash) = %s::varchar AND "
            "(coalesce(decide_by, deadline) IS NULL OR "
            "coalesce(decide_by, deadline) > clock_timestamp()) FOR UPDATE",
            (approval_id, proposal_hash),
        )
        won = cursor.fetchone()
        if won is not None:
            if edited:
                cursor.execute(
                    "UPDATE gp_approval SET standing_args = %s::jsonb, standing_hash = %s::varchar "
                    "WHERE id = %s::uuid",
                    (deltas.canonical(args).decode(), standing, approval_id),
                )
            _note(row, reviewer, verdict, standing, comment, args, what_next)
            given = [v for v in queries.votes(approval_id) if v.counts]
            needed = sum(seat.count for seat in terms.stages)
            asked_back = verdict == "respond" and row.kind != "question"
            answered = verdict == "respond" and row.kind == "question"
            if verdict == "reject" or answered or (not asked_back and len(given) >= needed):
                now = queries.approval(approval_id, workspace=workspace)
                outcome = "edit" if now.standing_args is not None else verdict
                if verdict in ("reject", "respond"):
                    outcome = verdict
                done = now.standing_args if outcome == "edit" else args
                window = max(terms.undo_window, 0)
                cursor.execute(
                    "UPDATE gp_approval SET status = %s::varchar, outcome = %s::varchar, "
                    "comment = %s::text, decided_by = %s::varchar, decided_by_name = %s::varchar, "
                    "decided_args = %s::jsonb, what_next = %s::varchar, "
                    "decided_at = clock_timestamp(), effective_at = clock_timestamp() + "
                    "make_interval(secs => %s) WHERE id = %s::uuid",
                    (
                        "held" if window else "settled",
                        outcome,
                        comment,
                        reviewer.id,
                        reviewer.name,
                        None if done is None else deltas.canonical(done).decode(),
                        what_next,
                        window,
                        approval_id,
                    ),
                )
                _tell(row, reviewer, EventKind.APPROVAL_DECIDED, verdict, wake=not window)
            else:
                _tell(row, reviewer, EventKind.DECISION_RECORDED, verdict, wake=asked_back)
    if won is None:
        _lost(approval_id, workspace=workspace, seen=proposal_hash)
    return queries.approval(approval_id, workspace=workspace)


def take_back(approval_id: UUID, *, workspace: UUID, reviewer: Reviewer) -> ApprovalRow:
    """held -> pending by the decider alone; LOCAL stand-in."""
    row = queries.approval(approval_id, workspace=workspace)
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM gp_thread WHERE id = %s::uuid FOR UPDATE", (row.thread,))
        cursor.execute(
            "UPDATE gp_approval SET status = 'pending', outcome = '', comment = '', "
            "decided_by = '', decided_by_name = '', decided_args = NULL, decided_at = NULL, "
            "effective_at = NULL, what_next = '' WHERE id = %s::uuid AND status = 'held' "
            "AND decided_by = %s::varchar AND effective_at > clock_timestamp() RETURNING 1",
            (approval_id, reviewer.id),
        )
        if cursor.fetchone() is None:
            raise AlreadyDecided(queries.approval(approval_id, workspace=workspace))
        _note(row, reviewer, "take_back", row.standing_hash, "", None, "")
        _tell(row, reviewer, EventKind.DECISION_TAKEN_BACK, "take_back", wake=False)
    return queries.approval(approval_id, workspace=workspace)


def settle_due(*, only: UUID | None = None, limit: int = 200) -> int:
    """held -> settled; LOCAL stand-in."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT id, thread_id, title FROM gp_approval WHERE status = 'held' AND "
            "effective_at <= clock_timestamp() LIMIT %s",
            (limit,),
        )
        due = cursor.fetchall()
    for ident, thread, title in due:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SELECT 1 FROM gp_thread WHERE id = %s::uuid FOR UPDATE", (thread,))
            cursor.execute(
                "UPDATE gp_approval SET status = 'settled' WHERE id = %s::uuid AND "
                "status = 'held' RETURNING 1",
                (ident,),
            )
            if cursor.fetchone():
                told = {"approval": str(ident), "title": title}
                store.wake(thread, event=store.NewEvent(EventKind.APPROVAL_SETTLED, told, "sweep"))
    return len(due)


def check_verdict(row: ApprovalRow, *, verdict: str, comment: str, args: Any) -> None:
    """Raise VerdictRefused or InvalidValue for a verdict that this request does not take."""
    allowed = {
        "gate": ("approve", "edit", "respond", "reject"),
        "operation": ("approve", "reject"),
    }.get(row.kind, ("respond", "reject"))
    if verdict not in allowed:
        raise VerdictRefused(f"Possible here: {', '.join(allowed)}.")
    if verdict == "reject" and not comment.strip():
        raise InvalidValue("comment", "say why, so that the agent and the log know")
    if len(comment) > COMMENT_MAX:
        raise InvalidValue("comment", f"is longer than {COMMENT_MAX} characters")
    deltas.check(comment, "comment")
    if args is not None and verdict not in ("respond", "edit"):
        # Approved is exactly what the reviewer saw.
        raise InvalidValue("args", f"are not taken with the verdict {verdict}")
    if verdict == "edit" or (verdict == "respond" and row.kind == "question"):
        deltas.check(args, "args")
        if row.schema is not None:
            try:
                jsonschema.validate(args, row.schema)
            except jsonschema.ValidationError as error:
                raise InvalidValue(f"args{error.json_path[1:]}", error.message) from error


def _note(
    row: ApprovalRow,
    reviewer: Reviewer,
    verdict: str,
    seen: str,
    comment: str,
    args: Any,
    what_next: str,
) -> None:
    salt, digest = salted(
        decision_content(
            approval=row.id,
            reviewer=reviewer.id,
            verdict=verdict,
            proposal_hash=seen,
            comment=comment,
            args=args,
            what_next=what_next,
        )
    )
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO gp_decision (id, workspace_id, approval_id, reviewer, reviewer_name, "
            "verdict, proposal_hash, comment, args, salt, hash, at, what_next) VALUES (%s::uuid, "
            "%s::uuid, %s::uuid, %s::varchar, %s::varchar, %s::varchar, %s::varchar, %s::text, "
            "%s::jsonb, %s::bytea, %s::bytea, clock_timestamp(), %s::varchar)",
            (
                uuid7(),
                row.workspace,
                row.id,
                reviewer.id,
                reviewer.name,
                verdict,
                seen,
                comment,
                None if args is None else deltas.canonical(args).decode(),
                salt,
                digest,
                what_next,
            ),
        )


def _tell(
    row: ApprovalRow, reviewer: Reviewer, kind: EventKind, verdict: str, *, wake: bool
) -> None:
    told = {
        "approval": str(row.id),
        "verdict": verdict,
        "title": row.title,
        "by_name": reviewer.name,
    }
    event = store.NewEvent(kind, told, reviewer.id)
    if wake:
        store.wake(row.thread, event=event)
    else:
        store.add_event(row.thread, event)


def _lost(approval_id: UUID, *, workspace: UUID, seen: str) -> None:
    row = queries.approval(approval_id, workspace=workspace)
    if row.status != "pending":
        raise AlreadyDecided(row)
    if row.standing_hash != seen:
        raise ProposalChanged
    expire_due(only=approval_id)
    raise AlreadyDecided(queries.approval(approval_id, workspace=workspace))


def withdraw_open(thread: UUID, *, reason: str, actor: str) -> int:
    """pending -> withdrawn for each open request of a thread; how many. Wakes nobody."""
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1 FROM gp_thread WHERE id = %s::uuid FOR UPDATE", (thread,))
            cursor.execute(
                "UPDATE gp_approval SET status = 'withdrawn', comment = %s::text, "
                "decided_at = clock_timestamp() "
                "WHERE thread_id = %s::uuid AND status = 'pending' "
                "RETURNING id, title, decided_at",
                (reason, thread),
            )
            gone = cursor.fetchall()
        for ident, title, at in gone:
            store.add_event(
                thread,
                store.NewEvent(
                    EventKind.APPROVAL_WITHDRAWN,
                    {
                        "approval": str(ident),
                        "title": title,
                        "reason": reason,
                        "decided_at": at.isoformat(),
                    },
                    actor,
                ),
            )
    return len(gone)


def expire_due(*, only: UUID | None = None, limit: int = 200) -> int:
    """pending -> expired for each request past its deadline, and wake its thread; how many."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT id, thread_id, title FROM gp_approval WHERE status = 'pending' "
            "AND deadline <= clock_timestamp() AND (%s::uuid IS NULL OR id = %s::uuid) LIMIT %s",
            (only, only, limit),
        )
        due = cursor.fetchall()
    done = 0
    for ident, thread, title in due:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SELECT 1 FROM gp_thread WHERE id = %s::uuid FOR UPDATE", (thread,))
            cursor.execute(
                "UPDATE gp_approval SET status = 'expired', decided_at = clock_timestamp() "
                "WHERE id = %s::uuid AND status = 'pending' AND deadline <= clock_timestamp() "
                "RETURNING decided_at",
                (ident,),
            )
            if (expired := cursor.fetchone()) is not None:
                store.wake(
                    thread,
                    event=store.NewEvent(
                        EventKind.APPROVAL_EXPIRED,
                        {
                            "approval": str(ident),
                            "title": title,
                            "decided_at": expired[0].isoformat(),
                        },
                        "sweep",
                    ),
                )
                done += 1
    return done
