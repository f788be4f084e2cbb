"""Verdicts, withdrawals and expiry: each a compare-and-swap on the row, then the thread's event.

Whoever comes second learns what the first one decided. Locks are taken thread first, then
approval, everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import jsonschema
from django.db import connection, transaction
from uuid_utils.compat import uuid7

from checkpoints import deltas, store
from checkpoints.errors import InvalidValue
from checkpoints.states import EventKind
from checkpoints.store.writing import salted

from .. import queries
from ..errors import AlreadyDecided, ProposalChanged, VerdictRefused
from ..queries import ApprovalRow
from .proposals import decision_content

COMMENT_MAX = 5_000


@dataclass(frozen=True, slots=True)
class Reviewer:
    """Who decides, as the log shall name them."""

    id: str
    name: str


def decide(
    approval_id: UUID,
    *,
    workspace: UUID,
    reviewer: Reviewer,
    verdict: str,
    proposal_hash: str,
    comment: str = "",
    args: Any = None,
) -> ApprovalRow:
    """Record one verdict and wake the thread, in one transaction.

    pending -> settled (the undo window is 0). Raises NotFound, AlreadyDecided with the recorded
    outcome, ProposalChanged when `proposal_hash` is not the one that stands, VerdictRefused,
    InvalidValue for arguments that the tool's schema refuses.
    """
    row = queries.approval(approval_id, workspace=workspace)
    check_verdict(row, verdict=verdict, comment=comment, args=args)
    deltas.check(proposal_hash, "proposal_hash")
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1 FROM gp_thread WHERE id = %s::uuid FOR UPDATE", (row.thread,))
            cursor.execute(
                "UPDATE gp_approval SET status = 'settled', outcome = %s::varchar, "
                "comment = %s::text, decided_by = %s::varchar, decided_by_name = %s::varchar, "
                "decided_args = %s::jsonb, decided_at = clock_timestamp(), "
                "effective_at = clock_timestamp() WHERE id = %s::uuid AND status = 'pending' "
                "AND proposal_hash = %s::varchar "
                "AND (deadline IS NULL OR deadline > clock_timestamp()) "
                "RETURNING decided_at, effective_at",
                (
                    verdict,
                    comment,
                    reviewer.id,
                    reviewer.name,
                    None if args is None else deltas.canonical(args).decode(),
                    approval_id,
                    proposal_hash,
                ),
            )
            won = cursor.fetchone()
        if won is not None:
            _record(row, won, reviewer=reviewer, verdict=verdict, comment=comment, args=args)
    if won is None:
        _lost(approval_id, workspace=workspace, seen=proposal_hash)
    return queries.approval(approval_id, workspace=workspace)


def check_verdict(row: ApprovalRow, *, verdict: str, comment: str, args: Any) -> None:
    """Raise VerdictRefused or InvalidValue for a verdict that this request does not take."""
    allowed = ("approve", "reject") if row.kind in ("gate", "operation") else ("respond", "reject")
    if verdict not in allowed:
        raise VerdictRefused(f"Possible here: {', '.join(allowed)}.")
    if verdict == "reject" and not comment.strip():
        raise InvalidValue("comment", "say why, so that the agent and the log know")
    if len(comment) > COMMENT_MAX:
        raise InvalidValue("comment", f"is longer than {COMMENT_MAX} characters")
    deltas.check(comment, "comment")
    if args is not None and verdict != "respond":
        # Approved is exactly what the reviewer saw.
        raise InvalidValue("args", f"are not taken with the verdict {verdict}")
    if verdict == "respond":
        deltas.check(args, "args")
        if row.schema is not None:
            try:
                jsonschema.validate(args, row.schema)
            except jsonschema.ValidationError as error:
                raise InvalidValue(f"args{error.json_path[1:]}", error.message) from error


def _record(
    row: ApprovalRow,
    times: tuple[datetime, datetime],
    *,
    reviewer: Reviewer,
    verdict: str,
    comment: str,
    args: Any,
) -> None:
    decision = uuid7()
    decided_at, effective_at = times
    salt, digest = salted(
        decision_content(
            approval=row.id,
            reviewer=reviewer.id,
            verdict=verdict,
            proposal_hash=row.proposal_hash,
            comment=comment,
            args=args,
        )
    )
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO gp_decision (id, workspace_id, approval_id, reviewer, reviewer_name, "
            "verdict, proposal_hash, comment, args, salt, hash, at) VALUES (%s::uuid, %s::uuid, "
            "%s::uuid, %s::varchar, %s::varchar, %s::varchar, %s::varchar, %s::text, %s::jsonb, "
            "%s::bytea, %s::bytea, %s::timestamptz)",
            (
                decision,
                row.workspace,
                row.id,
                reviewer.id,
                reviewer.name,
                verdict,
                row.proposal_hash,
                comment,
                None if args is None else deltas.canonical(args).decode(),
                salt,
                digest,
                decided_at,
            ),
        )
    # A thread does not wait for an operation: its status and version stay as that saw them.
    told = store.add_event if row.kind == "operation" else store.wake
    told(
        row.thread,
        event=store.NewEvent(
            EventKind.APPROVAL_DECIDED,
            {
                "approval": str(row.id),
                "decision": str(decision),
                "decision_hash": digest.hex(),
                "verdict": verdict,
                "title": row.title,
                "comment": comment,
                "by_name": reviewer.name,
                "proposal_hash": row.proposal_hash,
                "decided_at": decided_at.isoformat(),
                "effective_at": effective_at.isoformat(),
            },
            reviewer.id,
        ),
    )


def _lost(approval_id: UUID, *, workspace: UUID, seen: str) -> None:
    row = queries.approval(approval_id, workspace=workspace)
    if row.status != "pending":
        raise AlreadyDecided(row)
    if row.proposal_hash != seen:
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
