"""Requests for what a person wants to do to a thread: a second person decides on it.

Unlike a gate's, such a request stops nothing: the thread continues, and the request names what was
asked. It has the thread's current position, under a key of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from django.db import connection, transaction

from checkpoints import store
from checkpoints.errors import NotFound
from checkpoints.postgres.named_rows import fetch_named
from checkpoints.records import Position
from checkpoints.state import deltas
from checkpoints.states import EventKind

from .. import outbox, queries
from ..policies.matches import Rule
from ..queries import ApprovalRow
from ..rules.proposals import LATER, Proposal, proposal_hash
from .policy_approvals import settle
from .requests import insert, request_event

KIND, REQUESTED = "operation", "approval.requested"
NODE = "(people)"  # no node of a graph can be called so


def request_operation(
    thread: UUID,
    *,
    workspace: UUID,
    operation: str,
    args: Mapping[str, Any],
    rule: Rule,
    title: str,
    reason: str,
    barred: Sequence[str],
    actor: str,
    ident: UUID,
) -> ApprovalRow:
    """Open a request for an operation; `barred` may not decide it, the person who asked above all.

    1. Read where the thread stands, and make the proposal and its hash.
    2. Write the request with its event.
    3. If the rule blocks, settle it as rejected by the policy: nobody is asked.
    4. Otherwise add the news for those who decide.

    Four eyes hold whatever the rule says, and there is nothing to take back afterwards: it is
    carried out together with the last approval.
    """
    barred = tuple(dict.fromkeys((*rule.terms.barred, *barred)))
    terms = replace(rule.terms, four_eyes=True, barred=barred, undo_window=0)
    with transaction.atomic():
        agent_version, branch, step, deadline = _position_of(thread, workspace, rule.expires_in)
        p = Proposal(
            position=Position(branch, step, NODE, 0, f"{operation}:{ident}"),
            kind=KIND,
            tool=operation,
            args=deltas.decode(deltas.canonical(dict(args))),
            title=title[:300],
            description=reason,
            risk=rule.risk or "high",
            policy_version=rule.version,
            terms=terms,
            blocked_by=rule.name if rule.action == "block" else "",
        )
        where = {"workspace_id": workspace, "thread_id": thread, "agent_version_id": agent_version}
        columns = {"id": ident, **where, "deadline": deadline, **_columns(p)}
        columns["terms"] = terms.to_json()
        columns["proposal_hash"] = digest = proposal_hash(
            workspace=workspace,
            thread=thread,
            position=p.position,
            tool=p.tool,
            args=p.args,
            agent_version=agent_version,
            policy_version=p.policy_version,
            deadline=deadline,
        )
        store.add_event(thread, request_event(columns, actor=actor, asks=p.asks))
        insert(columns)
        if not p.asks:
            row, event = settle(ident, p.verdict, digest, terms, workspace=workspace)
            store.add_event(thread, event)
            return row
        news = {"title": p.title, "risk": p.risk}
        outbox.add(REQUESTED, workspace=workspace, thread=thread, approval=ident, data=news)
        return queries.approval(ident, workspace=workspace)


def _columns(p: Proposal) -> dict[str, Any]:
    """The columns of a request that follow from its proposal."""
    return {
        "branch": p.position.branch,
        "step": p.position.step,
        "node": p.position.node,
        "index": p.position.index,
        "key": p.position.key,
        "revision": 0,
        "kind": p.kind,
        "tool": p.tool,
        "args": p.args,
        "policy_version": p.policy_version,
        "title": p.title,
        "description": p.description,
        "reasons": [],
        "risk": p.risk,
        "schema": None,
        "undo": "",
        **LATER,
    }


def note_carried_out(row: ApprovalRow, *, done: bool, text: str, actor: str) -> bool:
    """Record the outcome of an approved operation; False when that was recorded before.

    Together with the operation in one transaction it lets that happen at most once.
    """
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute(
                "INSERT INTO gp_carried_out (approval_id, workspace_id, outcome, said) SELECT "
                "a.id, a.workspace_id, %s::varchar, %s::text FROM gp_approval a "
                "WHERE a.id = %s::uuid AND a.kind = %s::varchar AND a.status = 'settled' "
                # What a capsule claims was approved is not.
                "AND a.outcome = 'approve' AND NOT a.imported ON CONFLICT (approval_id) DO NOTHING",
                ("done" if done else "failed", text, row.id, KIND),
            )
            if not cursor.rowcount:
                return False
        store.add_event(
            row.thread,
            store.NewEvent(
                EventKind.OPERATION_DONE if done else EventKind.OPERATION_FAILED,
                {"approval": str(row.id), "operation": row.tool, "title": row.title, "said": text},
                actor,
            ),
        )
    return True


def _position_of(
    thread: UUID, workspace: UUID, expires_in: float | None
) -> tuple[UUID, int, int, Any]:
    """The thread's current position, locked: (agent version, branch, step, deadline)."""
    rows = fetch_named(
        "SELECT th.agent_version_id, th.branch, c.step, clock_timestamp() + "
        "make_interval(secs => %s::float8) AS deadline FROM gp_thread th JOIN gp_checkpoint c "
        "ON c.thread_id = th.id AND c.id = th.head WHERE th.id = %s::uuid "
        f"AND th.workspace_id = %s::uuid {store.LOCK_THREAD}",
        (expires_in, thread, workspace),
    )
    if not rows:
        raise NotFound("There is no such thread in this workspace.")
    [row] = rows
    return row.agent_version_id, row.branch, row.step, row.deadline
