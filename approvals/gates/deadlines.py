"""Requests whose time is over: expired, rejected by their policy, or put to others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection, transaction
from uuid_utils.compat import uuid7

from checkpoints import store
from checkpoints.postgres.guarded_rows import handle_rows, not_set_aside
from checkpoints.states import EventKind
from checkpoints.store.clock_steps import is_over, was_noticed

from .. import outbox, queries
from ..queries import ApprovalRow
from ..rules.headlines import named
from ..rules.terms import Terms, terms_of
from ..rules.votes import progress
from ..states import NOBODY
from .verdict import decision_rows
from .verdict.outcomes import takes_effect

SWEEP = "sweep"
# Kinds of news in the outbox.
EXPIRED = "approval.expired"
ESCALATED = "approval.escalated"
_TIME = "coalesce(a.decide_by, a.deadline)"
_PASSED = f"{_TIME} <= clock_timestamp()"  # the planner finds these by an index
_IS_OVER = is_over("a.requested_at", _TIME)


def is_anything_due() -> bool:
    """Answer False if a sweep would find no request to count, to settle or to expire."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT EXISTS (SELECT FROM gp_approval a WHERE a.status = 'pending' AND {_PASSED}) "
            "OR EXISTS (SELECT FROM gp_approval a WHERE a.status = 'held' "
            "AND a.effective_at <= clock_timestamp()) "
            "OR EXISTS (SELECT FROM gp_approval a WHERE a.tally IS NULL)"
        )
        return bool(cursor.fetchone()[0])


def expire_due(*, limit: int = 200) -> int:
    """Each open request past its time goes where its terms say; how many.

    pending -> expired, or settled as rejected by the policy: both wake the thread. Or others are
    called in and have until `decide_by`; the second time it expires.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT a.id, a.thread_id, a.workspace_id {decision_rows.DUE} AND a.status = "
            "'pending' "
            f"AND {_IS_OVER if was_noticed() else _PASSED} "
            f"AND {not_set_aside('expired', 'a.id')} LIMIT %s {decision_rows.FREE}",
            (limit,),
        )
        due: list[tuple[UUID, UUID, UUID]] = cursor.fetchall()
    return handle_rows("expired", due, _end)


def expire_due_in(workspaces: Sequence[UUID]) -> int:
    """`expire_due` in these workspaces alone, with nothing set aside; how many."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT a.id, a.thread_id, a.workspace_id FROM gp_approval a WHERE a.workspace_id = "
            f"ANY(%s::uuid[]) AND a.status = 'pending' AND {_PASSED} ORDER BY a.id",
            (list(workspaces),),
        )
        due: list[tuple[UUID, UUID, UUID]] = cursor.fetchall()
    return sum(expire(ident, thread=thread, workspace=where) for ident, thread, where in due)


def expire(approval_id: UUID, *, thread: UUID, workspace: UUID) -> bool:
    """End one request if its time is over, waiting for the one that holds it."""
    with transaction.atomic():
        store.lock_thread(thread)
        return _end((approval_id, thread, workspace))


def _end(due: tuple[UUID, UUID, UUID]) -> bool:
    approval, _, workspace = due
    row = queries.approval(approval, workspace=workspace)
    return _expire(row, terms_of(row.terms))


def _expire(row: ApprovalRow, terms: Terms) -> bool:
    """Expire, escalate or reject a request whose time is over; False where somebody was faster."""
    if terms.on_expiry == "escalate" and row.escalated_at is None:
        return _escalate(row, terms)
    if terms.on_expiry == "reject":
        return _reject(row)
    at = _swapped(row, f"{decision_rows.NOBODY_DUE}, status = 'expired', decided_at = c.now")
    if at is None:
        return False
    data = decision_rows.ended(row.id, row.title, at)
    event = store.NewEvent(EventKind.APPROVAL_EXPIRED, data, SWEEP)
    if row.kind == "operation":
        store.add_event(row.thread, event)
    else:
        store.wake(row.thread, event=event)
    _notify(row, EXPIRED, {"title": row.title})
    return True


def _escalate(row: ApprovalRow, terms: Terms) -> bool:
    then = progress(terms, queries.votes(row.id), escalated=True)
    at = _swapped(
        row,
        f"{decision_rows.TALLY}, escalated_at = c.now, decide_by = c.now + "
        "make_interval(secs => %s)",
        *decision_rows.tallied(then),
        terms.escalate_for,
    )
    if at is None:
        return False
    now = queries.approval(row.id, workspace=row.workspace)
    data = escalated(now)
    # Nothing changes for the agent: its thread sleeps on.
    store.add_event(row.thread, store.NewEvent(EventKind.APPROVAL_ESCALATED, data, SWEEP))
    _notify(row, ESCALATED, {"title": row.title, "to": data["to"]})
    return True


def escalated(row: ApprovalRow) -> dict[str, Any]:
    """The data of `approval.escalated`; `row` is the request as it stands then."""
    seat = terms_of(row.terms).escalate_to
    return {
        "approval": str(row.id),
        **named(row.title, row.shown_sentence),
        "to": "any reviewer" if seat is None else seat.in_words,
        "escalated_at": decision_rows.iso(row.escalated_at),
        "decide_by": decision_rows.iso(row.decide_by),
    }


def _reject(row: ApprovalRow) -> bool:
    ident, by, name = uuid7(), f"policy:{row.policy_version}", policy_name(row)
    digest, decision = decision_rows.NewDecision(
        id=ident,
        approval=row.id,
        reviewer=by,
        name=name,
        verdict="reject",
        proposal_hash=row.standing_hash,
        comment=NOBODY,
    ).sealed()
    at = _swapped(
        row,
        f"{decision_rows.NOBODY_DUE}, status = 'settled', outcome = 'reject', "
        "comment = %s::text, decided_by = %s::varchar, "
        "decided_by_name = %s::varchar, decided_at = c.now, effective_at = c.now",
        NOBODY,
        by,
        name,
        decision=decision,
    )
    if at is None:
        return False
    row = replace(
        row,
        status="settled",
        outcome="reject",
        comment=NOBODY,
        decided_by=by,
        decided_by_name=name,
        decided_at=at,
        effective_at=at,
    )
    data = decision_rows.decided(row, decision=ident, digest=digest, verdict="reject", by_name=name)
    takes_effect(row, EventKind.APPROVAL_DECIDED, data, actor=by, by=by)
    return True


def policy_name(row: ApprovalRow) -> str:
    """The policy's name, recorded as the decider when a deadline passes."""
    rule = terms_of(row.terms).rule
    return f"the policy: {rule}"[:200] if rule else "the policy"


def _swapped(
    row: ApprovalRow, sets: str, *params: Any, decision: tuple[Any, ...] = ()
) -> datetime | None:
    """Update an open request whose time is over; returns the time, None if somebody was faster."""
    message = f", said AS ({decision_rows.DECISION})" if decision else ""
    with connection.cursor() as cursor:
        cursor.execute(
            f"WITH won AS (UPDATE gp_approval a SET {sets} "
            "FROM (SELECT clock_timestamp() AS now) c WHERE a.id = %s::uuid "
            f"AND a.status = 'pending' AND {_IS_OVER} "
            f"RETURNING a.id, a.workspace_id, c.now AS at){message} SELECT won.at FROM won",
            (*params, row.id, *decision),
        )
        result = cursor.fetchone()
    return None if result is None else result[0]


def _notify(row: ApprovalRow, kind: str, data: dict[str, Any]) -> None:
    outbox.add(kind, workspace=row.workspace, thread=row.thread, approval=row.id, data=data)
