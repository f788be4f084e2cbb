"""What a policy allows or blocks by itself: asked and decided in one transaction, on record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, fields, replace
from typing import Any
from uuid import UUID

from django.db import connection, transaction
from uuid_utils.compat import uuid7

from checkpoints import store
from checkpoints.records import Work
from checkpoints.states import EventKind

from .. import outbox, queries
from ..queries import ApprovalRow
from ..rules.proposals import PolicyVerdict, Proposal, proposal_hash
from ..rules.terms import Terms
from ..rules.votes import Vote, progress
from .requests import columns_of, deadline_of, insert, request_event
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
    """Open approvals and let the thread wait; a policy that allows or blocks decides now.

    False when nobody has to be waited for, or when news came meanwhile (a decision on another
    gate): the engine starts over. Raises LeaseLost.
    """
    for proposal in proposals:
        if not proposal.asks:
            decide_by_policy(work, proposal, events=events)
            events = ()
    open_ones = [proposal for proposal in proposals if proposal.asks]
    if proposals and not open_ones:
        return False
    return ask(work, open_ones, events=events, waiting_on=waiting_on)


def decide_by_policy(
    work: Work, proposal: Proposal, *, events: Sequence[store.NewEvent] = ()
) -> ApprovalRow:
    """Record a request that its policy approves or rejects; the settled request. Raises LeaseLost.

    The thread continues to work.
    """
    held = replace(work)  # what the store notes there counts once all of it is written
    with transaction.atomic():
        approval, deadline = uuid7(), deadline_of(proposal)
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
        store.record(held, [*events, request_event(columns, actor=work.owner, asks=False)])
        if proposal.revision:
            withdraw_former(work, proposal, reason=proposal.verdict.supersedes)
        insert(columns)
        row, event = settle(
            approval, proposal.verdict, digest, proposal.terms, workspace=work.workspace
        )
        store.record(held, [event])
    for field in fields(work):
        setattr(work, field.name, getattr(held, field.name))
    return row


def settle(
    approval: UUID, by_policy: PolicyVerdict, digest: str, terms: Terms | None, *, workspace: UUID
) -> tuple[ApprovalRow, store.NewEvent]:
    """Settle a request that was just written as its policy says; its event is still to be written.

    Inside the transaction that writes both; `digest` is the request's proposal hash.
    """
    ident, (by, by_name, verdict, comment) = uuid7(), astuple(by_policy)
    proof, decision = decision_rows.NewDecision(
        id=ident,
        approval=approval,
        reviewer=by,
        name=by_name,
        verdict=verdict,
        proposal_hash=digest,
        comment=comment,
    ).sealed()
    vote = Vote(ident, by, by_name, verdict, digest, comment)
    then = progress(terms or Terms(), [vote])
    with connection.cursor() as cursor:
        cursor.execute(
            f"WITH won AS (UPDATE gp_approval a SET {decision_rows.TALLY}, "
            "status = 'settled', outcome = %s::varchar, comment = %s::text, "
            "decided_by = %s::varchar, decided_by_name = %s::varchar, decided_at = c.now, "
            "effective_at = c.now FROM (SELECT clock_timestamp() AS now) c "
            "WHERE a.id = %s::uuid RETURNING a.id, a.workspace_id, c.now AS at), "
            f"said AS ({decision_rows.DECISION}) SELECT won.at FROM won",
            (
                *decision_rows.tallied(then.closed()),
                *(verdict, comment, by, by_name, approval),
                *decision,
            ),
        )
    row = queries.approval(approval, workspace=workspace)
    data = decision_rows.decided(
        row, decision=ident, digest=proof, verdict=verdict, by_name=by_name
    )
    payload = {"title": row.title, "outcome": row.outcome, "by": by, "by_name": by_name}
    outbox.add(DECIDED, workspace=workspace, thread=row.thread, approval=row.id, data=payload)
    return row, store.NewEvent(EventKind.APPROVAL_DECIDED, data, by)
