"""The time in which a decision can be taken back: taking it back, and its end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final
from uuid import UUID

from django.db import connection, transaction
from uuid_utils.compat import uuid7

from checkpoints import store
from checkpoints.postgres.guarded_rows import handle_rows, not_set_aside
from checkpoints.states import EventKind
from checkpoints.store.clock_steps import is_over, was_noticed

from .. import queries
from ..errors import AlreadyDecided, NothingToTakeBack
from ..queries import ApprovalRow
from ..rules.headlines import named
from ..rules.terms import terms_of
from ..rules.votes import Vote, person, progress, standing_edit
from .verdict import decision_rows
from .verdict.judgement import Reviewer
from .verdict.outcomes import takes_effect

TAKE_BACK = "take_back"


_REOPEN: Final = (
    f"WITH won AS (UPDATE gp_approval a SET status = 'pending', {decision_rows.BLANK}, "
    "comment = '', decided_at = NULL, "
    f"{decision_rows.TALLY}, standing_args = %s::jsonb, standing_hash = %s::varchar "
    # The server's clock, read after the wait for the lock: the window may have ended meanwhile.
    "FROM (SELECT clock_timestamp() AS now) c WHERE a.id = %s::uuid "
    "AND a.status = 'held' AND a.effective_at > c.now "
    "AND split_part(a.decided_by, '/', 1) = %s::varchar "
    f"RETURNING a.id, a.workspace_id, c.now AS at), said AS ({decision_rows.DECISION}) "
    "SELECT won.at FROM won"
)


def take_back(approval_id: UUID, *, workspace: UUID, reviewer: Reviewer) -> ApprovalRow:
    """held -> pending, by who decided it and while it does not count yet; the request then.

    1. Lock the request and read it with its votes.
    2. Compute the progress without the decision; an edit that decided goes with it.
    3. Reopen the request and record the vote in one statement, if the window is still open.
    4. Log it, or raise why it was not: AlreadyDecided where it counts by now, NothingToTakeBack.

    Raises NotFound as well.
    """
    ident = uuid7()
    with transaction.atomic():
        decision_rows.locked(approval_id, workspace=workspace)
        # Read again: another reviewer may have voted while we waited for the lock.
        row = queries.approval(approval_id, workspace=workspace)
        votes = queries.votes(approval_id)
        gone = taking_back(reviewer)
        current = standing_edit([*votes, gone])
        called_in = row.escalated_at is not None
        then = progress(terms_of(row.terms), [*votes, gone], escalated=called_in)
        digest, decision = decision_rows.NewDecision(
            id=ident,
            approval=row.id,
            reviewer=reviewer.id,
            name=reviewer.name,
            verdict=TAKE_BACK,
            proposal_hash=row.standing_hash,
        ).sealed()
        args, standing_hash = None, ""
        if current is not None:
            args, standing_hash = current.args, current.proposal_hash
        whose = (decision_rows.as_json(args), standing_hash, approval_id, person(reviewer.id))
        with connection.cursor() as cursor:
            cursor.execute(_REOPEN, (*decision_rows.tallied(then), *whose, *decision))
            won = cursor.fetchone()
        if won is not None:
            data = taken_back(
                row, decision=ident, digest=digest, by_name=reviewer.name, at=won[0], vote=current
            )
            event = store.NewEvent(EventKind.DECISION_TAKEN_BACK, data, reviewer.id)
            store.add_event(row.thread, event)
    if won is None:
        raise nothing(row, reviewer)
    return replace(
        row,
        status="pending",
        outcome="",
        comment="",
        decided_by="",
        decided_by_name="",
        what_next="",
        decided_at=None,
        decided_args=None,
        effective_at=None,
        **then.columns,
        standing_args=args,
        standing_hash=standing_hash or row.proposal_hash,
    )


def taking_back(reviewer: Reviewer) -> Vote:
    """The verdict that takes a decision back, as votes are counted."""
    return Vote(UUID(int=0), reviewer.id, reviewer.name, TAKE_BACK, "")


def taken_back(
    row: ApprovalRow,
    *,
    decision: UUID,
    digest: bytes,
    by_name: str,
    at: datetime,
    vote: Vote | None,
) -> dict[str, str]:
    """The data of `decision.taken_back`; `row` is the request as it was held."""
    return {
        "approval": str(row.id),
        "decision": str(decision),
        "decision_hash": digest.hex(),
        "verdict": TAKE_BACK,
        **named(row.title, row.shown_sentence),
        "by_name": by_name,
        "proposal_hash": row.standing_hash,
        "at": at.isoformat(),
        "standing_hash": "" if vote is None else vote.proposal_hash,
    }


def nothing(row: ApprovalRow, reviewer: Reviewer) -> Exception:
    """Explain why a decision could not be taken back."""
    if row.status == "pending":
        return NothingToTakeBack("Nobody has decided this request; it is still open.")
    if row.status in ("expired", "withdrawn"):
        return AlreadyDecided(row)
    if person(row.decided_by) != person(reviewer.id):
        who = row.decided_by_name or row.decided_by
        return NothingToTakeBack(f"Only {who}, who decided it, could undo it.")
    return NothingToTakeBack("Too late to undo: the decision has taken effect.")


_PASSED = "a.effective_at <= clock_timestamp()"  # the planner finds these by an index
_IS_OVER = is_over("a.decided_at", "a.effective_at")


def settle_due(limit: int = 200) -> int:
    """held -> settled for each decision that counts from now on, and wake its thread; how many."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT a.id, a.thread_id, a.workspace_id {decision_rows.DUE} AND a.status = 'held' "
            f"AND {_IS_OVER if was_noticed() else _PASSED} "
            f"AND {not_set_aside('settled', 'a.id')} "
            f"ORDER BY a.effective_at LIMIT %s {decision_rows.FREE}",
            (limit,),
        )
        due: list[tuple[UUID, UUID, UUID]] = cursor.fetchall()
    return handle_rows("settled", due, _settle)


def settle_due_in(workspaces: Sequence[UUID]) -> int:
    """`settle_due` in these workspaces alone, with nothing set aside; how many."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT a.id, a.thread_id, a.workspace_id FROM gp_approval a WHERE a.workspace_id = "
            f"ANY(%s::uuid[]) AND a.status = 'held' AND {_PASSED} ORDER BY a.effective_at",
            (list(workspaces),),
        )
        due: list[tuple[UUID, UUID, UUID]] = cursor.fetchall()
    return sum(settle_held(ident, thread=thread, workspace=where) for ident, thread, where in due)


def settle_held(approval_id: UUID, *, thread: UUID, workspace: UUID) -> bool:
    """Settle one decision if it counts by now, waiting for the one that holds it."""
    with transaction.atomic():
        store.lock_thread(thread)
        return _settle((approval_id, thread, workspace))


def _settle(due: tuple[UUID, UUID, UUID]) -> bool:
    ident, _, workspace = due
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE gp_approval a SET status = 'settled' WHERE a.id = %s::uuid "
            f"AND a.status = 'held' AND {_IS_OVER}",
            (ident,),
        )
        if not cursor.rowcount:
            return False
    row = queries.approval(ident, workspace=workspace)
    takes_effect(row, EventKind.APPROVAL_SETTLED, settled(row), actor="sweep", by=row.decided_by)
    return True


def settled(row: ApprovalRow) -> dict[str, str]:
    """The data of `approval.settled`."""
    return {
        "approval": str(row.id),
        **named(row.title, row.shown_sentence),
        "outcome": row.outcome,
        "by_name": row.decided_by_name,
    }
