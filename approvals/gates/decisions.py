"""Verdicts: one compare-and-swap on the request, the decision's row, the thread's event.

The second one learns what the first one decided. Locks are taken thread first, then
approval, everywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection, transaction
from uuid_utils.compat import uuid7

from checkpoints import store
from checkpoints.state import deltas
from checkpoints.states import EventKind
from checkpoints.store.statement.moves import salted

from .. import queries
from ..errors import AlreadyDecided, FourEyes, NotYours, ProposalChanged
from ..queries import ApprovalRow, deputies
from ..rules.deputies import both_names
from ..rules.proposals import decision_content
from ..rules.votes import Vote, person
from ..states import WITH_ARGS
from .deadlines import expire
from .reminders import tell_turn
from .undo_window import settle_held
from .verdict import decision_rows
from .verdict.judgement import (
    Judged,
    Reviewer,
    check_verdict,
    is_simple,
    judge,
    window_of,
)
from .verdict.outcomes import takes_effect

_ONLY_IF = (
    " FROM (SELECT clock_timestamp() AS now) c WHERE a.id = %s::uuid AND a.status = 'pending' "
    "AND coalesce(nullif(a.standing_hash, ''), a.proposal_hash) = %s::varchar "
    "AND (coalesce(a.decide_by, a.deadline) IS NULL OR coalesce(a.decide_by, a.deadline) > c.now) "
    "RETURNING a.id, a.workspace_id, a.status, c.now AS at, a.effective_at"
)
_OUTCOME = (
    "status = CASE WHEN %s::float8 > 0 THEN 'held' ELSE 'settled' END, outcome = %s::varchar, "
    "comment = %s::text, decided_by = %s::varchar, decided_by_name = %s::varchar, "
    "what_next = %s::varchar, decided_args = %s::jsonb, decided_at = c.now, "
    "effective_at = c.now + make_interval(secs => %s)"
)
LOOKS = 3
_EDITED_ARGS = "standing_args = %s::jsonb, standing_hash = %s::varchar"


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
    then: Callable[[ApprovalRow], object] | None = None,
) -> ApprovalRow:
    """Record one verdict and what follows from it, in one transaction; the request afterwards.

    A vote that others are missing for, and a question to the agent, leave it pending. Else
    pending -> held, or settled where the undo window is 0, which wakes the thread or ends it.
    `then` is called in the same transaction once the verdict is written.

    Raises NotFound, AlreadyDecided with the recorded outcome, ProposalChanged when
    `proposal_hash` is not the one that stands, VerdictRefused, FourEyes (which is logged),
    NotYours, VotedAlready, InvalidValue for arguments that the tool's schema refuses.
    """
    if args is not None:
        # A schema may be large: it is judged by while nobody waits for a lock.
        approval = queries.approval(approval_id, workspace=workspace)
        check_verdict(approval, verdict=verdict, comment=comment, args=args, what_next=what_next)
    deltas.check(proposal_hash, "proposal_hash")
    for _ in range(LOOKS):  # It may be taken back, or put to others, between look and write.
        done = _decide_once(
            approval_id,
            workspace=workspace,
            reviewer=reviewer,
            verdict=verdict,
            proposal_hash=proposal_hash,
            comment=comment,
            args=args,
            what_next=what_next,
            then=then,
        )
        if done is not None:
            return done
        _explain(approval_id, workspace=workspace, seen=proposal_hash)
    raise ProposalChanged


def _decide_once(
    approval_id: UUID,
    *,
    workspace: UUID,
    reviewer: Reviewer,
    verdict: str,
    proposal_hash: str,
    comment: str,
    args: Any,
    what_next: str,
    then: Callable[[ApprovalRow], object] | None,
) -> ApprovalRow | None:
    """The request with the verdict; None where it no longer stands as seen: nothing was written."""
    refused: tuple[ApprovalRow, NotYours] | None = None
    done: ApprovalRow | None = None
    with transaction.atomic():
        row = decision_rows.locked(approval_id, workspace=workspace)
        if args is None:
            check_verdict(row, verdict=verdict, comment=comment, args=None, what_next=what_next)
        votes: list[Vote] = []
        if not is_simple(row) or row.standing_hash != proposal_hash:
            # What was read with the lock is as of before it.
            row = queries.approval(approval_id, workspace=workspace)
            votes = queries.votes(approval_id)
        if row.standing_hash == proposal_hash and (is_simple(row) or row.open):
            value = args if verdict in WITH_ARGS else None
            ident = uuid7()
            try:
                judged = _judged(row, votes, reviewer, ident, verdict, value)
            except NotYours as error:
                # That it is decided already says more to a person who may not decide it anyway.
                if queries.approval(approval_id, workspace=workspace).open:
                    refused = row, error
            else:
                who = replace(reviewer, name=both_names(reviewer.name, judged.mandate))
                done = _write(
                    row, judged, ident, who, proposal_hash, verdict, comment, value, what_next
                )
                if done is not None and then is not None:
                    then(done)
    if refused is not None:
        if isinstance(refused[1], FourEyes):
            note_refusal(refused[0], reviewer=reviewer, verdict=verdict, error=refused[1])
        raise refused[1]
    return done


def _judged(
    row: ApprovalRow, votes: list[Vote], reviewer: Reviewer, ident: UUID, verdict: str, args: Any
) -> Judged:
    """The judgement on a verdict; whom the reviewer may represent is read where they need it."""
    try:
        return judge(row, votes, reviewer=reviewer, decision=ident, verdict=verdict, args=args)
    except FourEyes:
        raise
    except NotYours:
        mandates = deputies.mandates(row.workspace, person(reviewer.id))
        if not mandates:
            raise
    who = replace(reviewer, mandates=mandates)
    return judge(row, votes, reviewer=who, decision=ident, verdict=verdict, args=args)


def note_refusal(row: ApprovalRow, *, reviewer: Reviewer, verdict: str, error: FourEyes) -> None:
    """Log that somebody tried who may not, in a transaction of its own."""
    data = decision_rows.refused(row, verdict=verdict, why=error.message, by_name=reviewer.name)
    store.add_event(row.thread, store.NewEvent(EventKind.DECISION_REFUSED, data, reviewer.id))


def _write(
    row: ApprovalRow,
    judged: Judged,
    ident: UUID,
    reviewer: Reviewer,
    seen: str,
    verdict: str,
    comment: str,
    args: Any,
    what_next: str,
) -> ApprovalRow | None:
    """The request as it stands afterwards; None: somebody or the clock was faster."""
    for_person = judged.mandate.person if judged.mandate else ""
    salt, digest = salted(
        decision_content(
            approval=row.id,
            reviewer=reviewer.id,
            verdict=verdict,
            proposal_hash=judged.hash,
            comment=comment,
            args=args,
            what_next=what_next,
            for_person=for_person,
        )
    )
    won = _swapped(
        row,
        judged,
        seen,
        _outcome(row, judged, reviewer, comment, what_next) if judged.outcome else (),
        decision_rows.params_of(
            ident,
            reviewer=reviewer.id,
            name=reviewer.name,
            verdict=verdict,
            hash=judged.hash,
            comment=comment,
            args=args,
            what_next=what_next,
            salted=(salt, digest),
            for_person=for_person,
        ),
    )
    if won is None:
        return None
    status, at, effective_at = won
    if judged.edit is not None:
        row = replace(row, standing_args=judged.edit[0], standing_hash=judged.edit[1])
    row = replace(row, **judged.progress.columns)
    payload: dict[str, Any] = {
        "decision": ident,
        "digest": digest,
        "verdict": verdict,
        "by_name": reviewer.name,
        "seen": seen,
        "void": judged.void,
        "confirmed_at": reviewer.confirmed_at,
        "for_person": for_person,
    }
    if not judged.outcome:
        missing = None if judged.asks else judged.progress.missing
        data = decision_rows.recorded(row, comment=comment, at=at, missing=missing, **payload)
        event = store.NewEvent(EventKind.DECISION_RECORDED, data, reviewer.id)
        # The agent has to be woken for an answer; for one vote of several nobody is.
        if judged.asks:
            store.wake(row.thread, event=event)
        else:
            store.add_event(row.thread, event)
            if judged.turn:
                tell_turn(row, judged.progress, void=judged.void)
        return row
    row = replace(
        row,
        status=status,
        outcome=judged.outcome,
        comment=comment,
        decided_by=reviewer.id,
        decided_by_name=reviewer.name,
        what_next=what_next,
        decided_args=judged.decided_args,
        decided_at=at,
        effective_at=effective_at,
    )
    data = decision_rows.decided(row, held=status == "held", **payload)
    kind = EventKind.APPROVAL_DECIDED
    if status == "held":
        store.add_event(row.thread, store.NewEvent(kind, data, reviewer.id))
    else:
        takes_effect(row, kind, data, actor=reviewer.id, by=reviewer.id)
    return row


def _outcome(
    row: ApprovalRow, judged: Judged, reviewer: Reviewer, comment: str, what_next: str
) -> tuple[Any, ...]:
    window = window_of(row)
    return (
        window,
        judged.outcome,
        comment,
        reviewer.id,
        reviewer.name,
        what_next,
        decision_rows.as_json(judged.decided_args),
        window,
    )


def _swapped(
    row: ApprovalRow,
    judged: Judged,
    seen: str,
    outcome: tuple[Any, ...],
    decision: tuple[Any, ...],
) -> tuple[str, datetime, datetime | None] | None:
    """(status, when, from when it counts), written only if the request still stands as seen."""
    sets, params = [decision_rows.TALLY], [*decision_rows.tallied(judged.progress)]
    if judged.edit is not None:
        sets.append(_EDITED_ARGS)
        params += [decision_rows.as_json(judged.edit[0]), judged.edit[1]]
    if outcome:
        sets.append(_OUTCOME)
        params += outcome
    with connection.cursor() as cursor:
        cursor.execute(
            f"WITH won AS (UPDATE gp_approval a SET {', '.join(sets)}"
            f"{_ONLY_IF}), said AS ({decision_rows.DECISION}) "
            "SELECT won.status, won.at, won.effective_at FROM won",
            (*params, row.id, seen, *decision),
        )
        result: tuple[str, datetime, datetime | None] | None = cursor.fetchone()
    return result


def _explain(approval_id: UUID, *, workspace: UUID, seen: str) -> None:
    """Raise what explains best why nothing was written; nothing if it can be tried again."""
    row = queries.approval(approval_id, workspace=workspace)
    if row.status == "held":
        settle_held(approval_id, thread=row.thread, workspace=workspace)
        row = queries.approval(approval_id, workspace=workspace)
    if not row.open:
        raise AlreadyDecided(row)
    if row.standing_hash != seen:
        raise ProposalChanged
    # Its time may be over: it ends then, or a policy calls in others, who have more time.
    expire(approval_id, thread=row.thread, workspace=workspace)
