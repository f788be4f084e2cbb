"""What a policy lets happen without people: asked and approved in one transaction, on record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any
from uuid import UUID

from django.db import connection, transaction
from uuid_utils.compat import uuid7

from checkpoints import store
from checkpoints.records import Work
from checkpoints.states import EventKind

from .. import outbox, queries
from ..queries import ApprovalRow
from ..rules.proposals import Proposal, proposal_hash
from ..rules.terms import Terms
from ..rules.votes import Vote, progress
from .requests import asked_event, columns_of, deadline_of, insert
from .requests import request as ask
from .verdict import decision_rows
from .verdict.outcomes import DECIDED, withdraw_former


def request(
    work: Work,
    proposals: Sequence[Proposal],
    *,
    events: Sequence[store.NewEvent] = (),
    waiting_on: Any = None,
) -> bool:
    """Open approvals and let the thread wait; what a policy allows is decided at once.

    False when nobody has to be waited for, or when news came meanwhile (a decision on another
    gate): the engine goes round once more. Raises LeaseLost.
    """
    for proposal in proposals:
        if proposal.allowed_by:
            decide_by_policy(work, proposal, events=events)
            events = ()
    open_ones = [proposal for proposal in proposals if not proposal.allowed_by]
    if proposals and not open_ones:
        return False
    return ask(work, open_ones, events=events, waiting_on=waiting_on)


def decide_by_policy(
    work: Work, proposal: Proposal, *, events: Sequence[store.NewEvent] = ()
) -> ApprovalRow:
    """Record a request that its policy approves; the settled request. Raises LeaseLost.

    `proposal.allowed_by` names the rule. The thread goes on working: it does not wait.
    """
    held = replace(work)  # what the store notes there counts once all of it is written
    by = f"policy:{proposal.policy_version}"
    name = f"the policy: {proposal.allowed_by}"[:200]
    with transaction.atomic():
        ident, approval, deadline = uuid7(), uuid7(), deadline_of(proposal)
        digest = proposal_hash(
            workspace=work.workspace,
            thread=work.thread,
            position=proposal.position,
            tool=proposal.tool,
            args=proposal.args,
            agent_version=work.agent_version,
            policy_version=proposal.policy_version,
            deadline=deadline,
            origin=proposal.origin,
        )
        columns = columns_of(work, approval, proposal, deadline, digest)
        store.record(held, [*events, asked_event(columns, actor=work.owner)])
        if proposal.revision:
            withdraw_former(work, proposal, reason=f"No longer asked: {name} allows it.")
        insert(columns)
        proof, decision = decision_rows.NewDecision(
            id=ident,
            approval=approval,
            reviewer=by,
            name=name,
            verdict="approve",
            proposal_hash=digest,
        ).sealed()
        vote = Vote(ident, by, name, "approve", digest)
        then = progress(proposal.terms or Terms(), [vote])
        with connection.cursor() as cursor:
            cursor.execute(
                f"WITH won AS (UPDATE gp_approval a SET {decision_rows.TALLY}, "
                "status = 'settled', outcome = 'approve', "
                "decided_by = %s::varchar, decided_by_name = %s::varchar, decided_at = c.now, "
                "effective_at = c.now FROM (SELECT clock_timestamp() AS now) c "
                "WHERE a.id = %s::uuid RETURNING a.id, a.workspace_id, c.now AS at), "
                f"said AS ({decision_rows.DECISION}) SELECT won.at FROM won",
                (*decision_rows.tallied(then.closed()), by, name, approval, *decision),
            )
        row = queries.approval(approval, workspace=work.workspace)
        data = decision_rows.decided(
            row, decision=ident, digest=proof, verdict="approve", by_name=name
        )
        store.record(held, [store.NewEvent(EventKind.APPROVAL_DECIDED, data, by)])
        _tell(row, by, name)
    for field in fields(work):
        setattr(work, field.name, getattr(held, field.name))
    return row


def _tell(row: ApprovalRow, by: str, name: str) -> UUID:
    payload = {"title": row.title, "outcome": row.outcome, "by": by, "by_name": name}
    return outbox.tell(
        DECIDED, workspace=row.workspace, thread=row.thread, approval=row.id, data=payload
    )
