"""The only writer of approvals: request, decide, withdraw, expire.

The server holds the proposal; people see it and name it by its hash. A decision is a
compare-and-swap on the row: whoever comes second learns what the first one decided. Locks are
taken thread first, then approval, everywhere.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Any
from uuid import UUID

import jsonschema
from django.db import connection, transaction
from uuid_utils.compat import uuid7

from checkpoints import deltas, store
from checkpoints.errors import InvalidValue
from checkpoints.records import Position, Work
from checkpoints.states import EventKind
from checkpoints.store.writing import salted

from . import queries
from .errors import AlreadyDecided, ProposalChanged, VerdictRefused
from .queries import ApprovalRow

COMMENT_MAX = 5_000


@dataclass(frozen=True, slots=True)
class Reviewer:
    """Who decides, as the log shall name them."""

    id: str
    name: str


@dataclass(frozen=True, slots=True)
class Proposal:
    """What would be done, or is asked, at one position; canonical JSON arguments."""

    position: Position
    kind: str
    tool: str
    args: Any
    title: str
    description: str = ""
    reasons: tuple[str, ...] = ()
    risk: str = "medium"
    schema: Any = None
    undo: str = ""
    expires_in: float | None = None
    policy_version: str = "author"
    revision: int = 0


def proposal_hash(
    *,
    workspace: UUID,
    thread: UUID,
    position: Position,
    tool: str,
    args: Any,
    agent_version: UUID,
    policy_version: str,
    deadline: datetime | None,
) -> str:
    """What a decision binds to, as hex sha256; an upgrade of the checkpoint leaves it alone."""
    p = position
    return hashlib.sha256(
        b"gatepost-proposal-1"
        + deltas.canonical(
            {
                "workspace": str(workspace),
                "thread": str(thread),
                "position": [p.branch, p.step, p.node, p.index, p.key],
                "tool": tool,
                "args": args,
                "agent_version": str(agent_version),
                "policy": policy_version,
                "deadline": None if deadline is None else deadline.isoformat(),
            }
        )
    ).hexdigest()


def request(
    work: Work,
    proposals: Sequence[Proposal],
    *,
    events: Sequence[store.NewEvent] = (),
    waiting_on: Any = None,
) -> bool:
    """Open approvals and let the thread wait: running -> waiting, in one transaction.

    False when news came meanwhile (a decision on another gate): nothing was written, the engine
    goes round once more. Raises LeaseLost.
    """
    held = replace(work)  # what the store notes there counts once all of it is written
    with transaction.atomic():
        rows = [(uuid7(), p, _deadline(p)) for p in proposals]
        hashes = {
            ident: proposal_hash(
                workspace=work.workspace,
                thread=work.thread,
                position=p.position,
                tool=p.tool,
                args=p.args,
                agent_version=work.agent_version,
                policy_version=p.policy_version,
                deadline=deadline,
            )
            for ident, p, deadline in rows
        }
        asked = [
            store.NewEvent(
                EventKind.APPROVAL_REQUESTED,
                {
                    "approval": str(ident),
                    "title": p.title,
                    "tool": p.tool,
                    "node": p.position.node,
                    "risk": p.risk,
                    "proposal_hash": hashes[ident],
                },
                work.owner,
            )
            for ident, p, _ in rows
        ]
        # The thread row first: it carries the lease, and it is the first lock everywhere.
        waits = store.leave(
            held,
            EventKind.THREAD_SUSPENDED,
            events=[*events, *asked],
            waiting_on=waiting_on,
            unless_woken=True,
        )
        for ident, p, deadline in rows if waits else ():
            _insert(work, ident, p, deadline, hashes[ident])
    for field in fields(work):
        setattr(work, field.name, getattr(held, field.name))
    return waits


def _deadline(proposal: Proposal) -> datetime | None:
    if proposal.expires_in is None:
        return None
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT clock_timestamp() + make_interval(secs => %s)", (proposal.expires_in,)
        )
        found: datetime = cursor.fetchone()[0]
    return found


def _insert(work: Work, ident: UUID, p: Proposal, deadline: datetime | None, digest: str) -> None:
    def text(value: Any) -> str | None:
        return None if value is None else deltas.canonical(value).decode()

    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO gp_approval (id, workspace_id, thread_id, agent_version_id, branch, step,"
            " node, index, key, revision, kind, tool, args, proposal_hash, policy_version, title,"
            " description, reasons, risk, schema, undo, deadline, status, outcome, comment,"
            " decided_by, decided_by_name) VALUES (%s::uuid, %s::uuid, %s::uuid, %s::uuid,"
            " %s::integer, %s::integer, %s::varchar, %s::integer, %s::varchar, %s::smallint,"
            " %s::varchar, %s::varchar, %s::jsonb, %s::varchar, %s::varchar, %s::varchar,"
            " %s::text, %s::jsonb, %s::varchar, %s::jsonb, %s::varchar, %s::timestamptz,"
            " 'pending', '', '', '', '')",
            (
                ident,
                work.workspace,
                work.thread,
                work.agent_version,
                p.position.branch,
                p.position.step,
                p.position.node,
                p.position.index,
                p.position.key,
                p.revision,
                p.kind,
                p.tool,
                text(p.args),
                digest,
                p.policy_version,
                p.title[:300],
                p.description,
                text(list(p.reasons)),
                p.risk,
                text(p.schema),
                p.undo,
                deadline,
            ),
        )


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
    _check(row, verdict=verdict, comment=comment, args=args)
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
                "AND (deadline IS NULL OR deadline > clock_timestamp()) RETURNING decided_at",
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
            _record(row, reviewer=reviewer, verdict=verdict, comment=comment, args=args)
    if won is None:
        _lost(approval_id, workspace=workspace, seen=proposal_hash)
    return queries.approval(approval_id, workspace=workspace)


def _check(row: ApprovalRow, *, verdict: str, comment: str, args: Any) -> None:
    allowed = ("approve", "reject") if row.kind == "gate" else ("respond", "reject")
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


def _record(row: ApprovalRow, *, reviewer: Reviewer, verdict: str, comment: str, args: Any) -> None:
    decision = uuid7()
    salt, digest = salted(
        deltas.canonical(
            {
                "approval": str(row.id),
                "reviewer": reviewer.id,
                "verdict": verdict,
                "proposal_hash": row.proposal_hash,
                "comment": comment,
                "args": args,
            }
        )
    )
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO gp_decision (id, workspace_id, approval_id, reviewer, reviewer_name, "
            "verdict, proposal_hash, comment, args, salt, hash) VALUES (%s::uuid, %s::uuid, "
            "%s::uuid, %s::varchar, %s::varchar, %s::varchar, %s::varchar, %s::text, %s::jsonb, "
            "%s::bytea, %s::bytea)",
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
            ),
        )
    store.wake(
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
                "WHERE thread_id = %s::uuid AND status = 'pending' RETURNING id, title",
                (reason, thread),
            )
            gone = cursor.fetchall()
        for ident, title in gone:
            store.add_event(
                thread,
                store.NewEvent(
                    EventKind.APPROVAL_WITHDRAWN,
                    {"approval": str(ident), "title": title, "reason": reason},
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
                "WHERE id = %s::uuid AND status = 'pending' AND deadline <= clock_timestamp()",
                (ident,),
            )
            if cursor.rowcount:
                store.wake(
                    thread,
                    event=store.NewEvent(
                        EventKind.APPROVAL_EXPIRED,
                        {"approval": str(ident), "title": title},
                        "sweep",
                    ),
                )
                done += 1
    return done
