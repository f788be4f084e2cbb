"""What a leased thread says to its own open requests: a reply, an answer taken, a newer request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from django.db import connection, transaction

from checkpoints import store
from checkpoints.errors import LeaseLost
from checkpoints.records import NewActivity, Work
from checkpoints.states import EventKind

from .. import outbox
from ..queries import ApprovalRow
from ..rules.headlines import named
from ..rules.proposals import Proposal
from .verdict import decision_rows
from .verdict.outcomes import withdraw_former

SUPERSEDED = "It is asked again: see the newer request."


def replied(approval: UUID, decision: UUID, text: str, *, actor: str) -> store.NewEvent:
    """The event of an agent's reply to what a reviewer asked back; the request stays open.

    Write it with the recorded activity that made the text, so that there is one per decision.
    """
    data = {"approval": str(approval), "decision": str(decision), "text": text}
    return store.NewEvent(EventKind.APPROVAL_REPLIED, data, actor)


def answer(
    work: Work,
    row: ApprovalRow,
    activity: NewActivity,
    *,
    result: Any,
    reason: str,
    events: Sequence[store.NewEvent] = (),
) -> bool:
    """Take a reviewer's text as the answer: pending -> withdrawn, and the answer is recorded.

    False when somebody decided meanwhile: nothing was written. Raises LeaseLost.
    """
    with transaction.atomic():
        if not store.lock_thread(work.thread, token=work.token):
            raise LeaseLost(thread=work.thread)
        if not _withdraw(work, row, reason):
            return False
        store.record_activity(work, activity, result=result, events=events)
    return True


def announce(work: Work, proposals: Mapping[UUID, Proposal]) -> None:
    """Put new requests by id in the outbox, and withdraw what they take the place of.

    Inside the transaction that writes them.
    """
    for ident, proposal in proposals.items():
        if proposal.revision:
            withdraw_former(work, proposal, reason=SUPERSEDED)
        if proposal.asks:
            data = named(proposal.title[:300], proposal.sentence) | {"risk": proposal.risk}
            _notify(work, "approval.requested", ident, data)


def _withdraw(work: Work, row: ApprovalRow, reason: str) -> bool:
    """pending -> withdrawn; False when it was decided. Its thread is locked."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"UPDATE gp_approval SET {decision_rows.NOBODY_DUE}, status = 'withdrawn', "
            "comment = %s::text, "
            "decided_at = clock_timestamp() WHERE id = %s::uuid AND status = 'pending' "
            "RETURNING decided_at",
            (reason, row.id),
        )
        gone = cursor.fetchone()
    if gone is None:
        return False
    data = decision_rows.ended(row.id, row.title, gone[0], reason=reason)
    event = store.NewEvent(EventKind.APPROVAL_WITHDRAWN, data, work.owner)
    store.add_event(work.thread, event)
    _notify(work, "approval.withdrawn", row.id, {"title": row.title, "reason": reason})
    return True


def _notify(work: Work, kind: str, approval: UUID, data: dict[str, Any]) -> None:
    outbox.add(kind, workspace=work.workspace, thread=work.thread, approval=approval, data=data)
