"""What follows from an outcome that counts, and requests that lose their thread."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.db import connection, transaction

from approvals import outbox
from approvals.queries import ApprovalRow
from approvals.rules.headlines import named
from approvals.rules.proposals import Proposal
from approvals.states import ROLL_BACK, STOP
from checkpoints import queries as threads
from checkpoints import store
from checkpoints import undo as plans
from checkpoints.errors import NotAllowedNow
from checkpoints.records import Work
from checkpoints.states import EventKind

from . import decision_rows

# Kinds of news in the outbox.
DECIDED = "approval.decided"
WITHDRAWN = "approval.withdrawn"


def withdraw_open(thread: UUID, *, node: str = "", reason: str, actor: str) -> int:
    """pending or held -> withdrawn for each request of a thread, or of one node of it; how many.

    Wakes nobody.
    """
    with transaction.atomic():
        store.lock_thread(thread)
        which, params = ("a.node = %s::varchar", (node,)) if node else ("TRUE", ())
        return _withdraw(thread, which, params, reason=reason, actor=actor)


def withdraw_former(work: Work, proposal: Proposal, *, reason: str) -> int:
    """Withdraw what is still open at the position of a newer request; its thread is locked."""
    p = proposal.position
    return _withdraw(
        work.thread,
        "a.branch = %s::integer AND a.step = %s::integer AND a.node = %s::varchar "
        "AND a.index = %s::integer AND a.key = %s::varchar AND a.revision < %s::smallint",
        (p.branch, p.step, p.node, p.index, p.key, proposal.revision),
        reason=reason,
        actor=work.owner,
    )


def _withdraw(thread: UUID, which: str, params: tuple[Any, ...], *, reason: str, actor: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(
            f"UPDATE gp_approval a SET {decision_rows.BLANK}, {decision_rows.NOBODY_DUE}, "
            "status = 'withdrawn', comment = %s::text, decided_at = clock_timestamp() "
            f"WHERE a.thread_id = %s::uuid AND a.status IN ('pending', 'held') AND {which} "
            "RETURNING a.id, a.title, a.decided_at, a.workspace_id",
            (reason, thread, *params),
        )
        gone = cursor.fetchall()
    for ident, title, at, workspace in gone:
        data = decision_rows.ended(ident, title, at, reason=reason)
        store.add_event(thread, store.NewEvent(EventKind.APPROVAL_WITHDRAWN, data, actor))
        payload = {"title": title, "reason": reason}
        outbox.add(WITHDRAWN, workspace=workspace, thread=thread, approval=ident, data=payload)
    return len(gone)


def carried_out(thread: UUID, *, workspace: UUID, what_next: str, by: str, why: str) -> bool:
    """End the thread as a rejection wants it, in the open transaction; whether it did.

    `roll_back` lets a worker first undo, last first, what the thread did.
    """
    if what_next not in (STOP, ROLL_BACK):
        return False
    withdraw_open(thread, reason="The thread was cancelled.", actor=by)
    if what_next == ROLL_BACK:
        fates = threads.effects_of(thread)
        chosen = plans.chosen(fates)
        if chosen:
            target = threads.checkpoint_before(chosen[-1].activity)
            carried = plans.plan_back_to(
                target, fates, reason=why, by=by, then=plans.CANCELLED, unknown=False
            )
            head = threads.thread(thread, workspace=workspace).head
            store.cancel_and_undo(thread, plan=carried, head=head)
            return True
    store.cancel(thread, actor=by, reason=why)
    return True


def ends_thread(outcome: str, what_next: str) -> bool:
    """Answer True if an outcome leaves the thread nothing to do."""
    return outcome == "reject" and what_next in (STOP, ROLL_BACK)


def takes_effect(
    row: ApprovalRow, kind: EventKind, data: Mapping[str, Any], *, actor: str, by: str
) -> None:
    """The event of a settled outcome, and what follows: the thread continues, or is ended by `by`.

    `row` is the request as decided.
    """
    event = store.NewEvent(kind, data, actor)
    ends = ends_thread(row.outcome, row.what_next)
    payload = {
        **named(row.title, row.shown_sentence),
        "outcome": row.outcome,
        "by": row.decided_by,
        "by_name": row.decided_by_name,
    }
    news = [outbox.beside(DECIDED, approval=row.id, data=payload)]
    if ends or row.kind == "operation":
        # What a person wants to do to a thread is not what the thread waits for.
        store.add_event(row.thread, event, beside=news)
    else:
        store.wake(row.thread, event=event, beside=news)
    if not ends:
        return
    try:
        carried_out(
            row.thread, workspace=row.workspace, what_next=row.what_next, by=by, why=row.comment
        )
    except NotAllowedNow:
        if kind is not EventKind.APPROVAL_SETTLED:
            raise
        # It came to its end in the time in which the decision could be taken back.
