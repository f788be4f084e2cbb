"""Verdicts: one compare-and-swap on the approval, the decision's row, the thread's event.

Of two reviewers the second one gets the first one's outcome. Locks are taken thread first, then
approval, everywhere: in another order two writers could wait for each other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection, transaction
from uuid_utils.compat import uuid7

from checkpoints import store
from checkpoints.state import deltas
from checkpoints.states import EventKind

from .. import queries
from ..errors import AlreadyDecided, FourEyes, NotYours, ProposalChanged
from ..queries import ApprovalRow, deputies
from ..rules.deputies import both_names
from ..rules.votes import Vote, person
from ..states import WITH_ARGS
from .deadlines import expire
from .reminders import announce_turn
from .undo_window import settle_held
from .verdict import decision_rows
from .verdict.decision_rows import NewDecision
from .verdict.judgement import (
    Judged,
    Reviewer,
    check_verdict,
    is_simple,
    judge,
    window_of,
)
from .verdict.outcomes import takes_effect

# One reading of the clock for the deadline and the columns. The thread is locked before, so the
# statement waits for nothing after that reading.
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
ATTEMPTS = 3
_EDITED_ARGS = "standing_args = %s::jsonb, standing_hash = %s::varchar"


@dataclass(frozen=True, slots=True)
class SubmittedVerdict:
    """A verdict as a reviewer submits it; `seen` is the hash of the proposal that they saw."""

    id: UUID
    approval: UUID
    workspace: UUID
    reviewer: Reviewer
    verdict: str
    seen: str
    comment: str
    args: Any
    what_next: str

    @property
    def value(self) -> Any:
        """The arguments that are recorded; a verdict that takes none has none."""
        return self.args if self.verdict in WITH_ARGS else None


@dataclass(frozen=True, slots=True)
class RecordedVerdict:
    """A written verdict: the approval as it is afterwards, the decision with its hash and time."""

    row: ApprovalRow
    judged: Judged
    decision: NewDecision
    digest: bytes
    at: datetime


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
    """Record one verdict on an approval and everything that follows from it, in one transaction.

    1. Check arguments against the tool's schema before anything is locked.
    2. Lock the thread and read the approval with its votes; check the verdict.
    3. Check that the reviewer saw the current proposal and may decide; compute the new progress:
       still pending, held for the undo window, or settled.
    4. Write decision, progress and status in one statement, if the approval is still as read.
    5. Record the event; wake or end the thread if the approval settled; call `then`.
    6. Where the approval changed between 2 and 4, raise with its outcome or start again at 2.

    Returns the approval as it is afterwards. Raises NotFound, AlreadyDecided with the recorded
    outcome, ProposalChanged when `proposal_hash` is not the current one, VerdictRefused, FourEyes
    (which is logged), NotYours, VotedAlready, InvalidValue for arguments that the tool's schema
    refuses.
    """
    submitted = SubmittedVerdict(
        uuid7(), approval_id, workspace, reviewer, verdict, proposal_hash, comment, args, what_next
    )
    _check_before_lock(submitted)
    for _ in range(ATTEMPTS):
        try:
            with transaction.atomic():
                row, votes = _read_locked(submitted)
                judged = _judge_current(row, votes, submitted)
                recorded = None if judged is None else _write(row, judged, submitted)
                if recorded is not None:
                    _record_event(recorded, submitted)
                    if then is not None:
                        then(recorded.row)
        except FourEyes as error:
            note_refusal(row, reviewer=reviewer, verdict=verdict, error=error)
            raise
        if recorded is not None:
            return recorded.row
        _explain(submitted)
    raise ProposalChanged


def _check_before_lock(submitted: SubmittedVerdict) -> None:
    if submitted.args is not None:
        # A schema may be large: arguments are checked by it while nobody waits for our lock.
        row = queries.approval(submitted.approval, workspace=submitted.workspace)
        _check_verdict(row, submitted)
    deltas.check(submitted.seen, "proposal_hash")


def _check_verdict(row: ApprovalRow, submitted: SubmittedVerdict) -> None:
    check_verdict(
        row,
        verdict=submitted.verdict,
        comment=submitted.comment,
        args=submitted.args,
        what_next=submitted.what_next,
    )


def _read_locked(submitted: SubmittedVerdict) -> tuple[ApprovalRow, list[Vote]]:
    """Lock the thread; read the approval and its votes (none where a single vote is enough)."""
    row = decision_rows.locked(submitted.approval, workspace=submitted.workspace)
    if submitted.args is None:
        _check_verdict(row, submitted)
    if is_simple(row) and row.standing_hash == submitted.seen:
        return row, []
    # Read again: the locking SELECT returns the row as it was before it waited for the lock, and
    # another reviewer may have voted meanwhile. A simple one need not be: `_write` checks it.
    row = queries.approval(submitted.approval, workspace=submitted.workspace)
    return row, queries.votes(submitted.approval)


def _judge_current(
    row: ApprovalRow, votes: list[Vote], submitted: SubmittedVerdict
) -> Judged | None:
    """The judgement on a verdict; None where the approval is not, or no longer, as seen."""
    if row.standing_hash != submitted.seen or not (is_simple(row) or row.open):
        return None
    try:
        return _judged(row, votes, submitted)
    except NotYours:
        # To a person who may not decide it anyway, "already decided" says more than "not yours".
        if queries.approval(submitted.approval, workspace=submitted.workspace).open:
            raise
        return None


def _judged(row: ApprovalRow, votes: list[Vote], submitted: SubmittedVerdict) -> Judged:
    """The judgement on a verdict; whom the reviewer may represent is read where they need it."""

    def judged_as(reviewer: Reviewer) -> Judged:
        return judge(
            row,
            votes,
            reviewer=reviewer,
            decision=submitted.id,
            verdict=submitted.verdict,
            args=submitted.value,
        )

    try:
        return judged_as(submitted.reviewer)
    except FourEyes:
        raise
    except NotYours:
        mandates = deputies.mandates(row.workspace, person(submitted.reviewer.id))
        if not mandates:
            raise
    return judged_as(replace(submitted.reviewer, mandates=mandates))


def _write(row: ApprovalRow, judged: Judged, submitted: SubmittedVerdict) -> RecordedVerdict | None:
    """Write decision, progress and status, if the approval is still as read; else None.

    None means that another reviewer was faster, or that its deadline has passed.
    """
    reviewer, mandate = submitted.reviewer, judged.mandate
    decision = NewDecision(
        id=submitted.id,
        approval=row.id,
        reviewer=reviewer.id,
        name=both_names(reviewer.name, mandate),
        verdict=submitted.verdict,
        proposal_hash=judged.hash,
        comment=submitted.comment,
        args=submitted.value,
        what_next=submitted.what_next,
        for_person=mandate.person if mandate else "",
    )
    digest, params = decision.sealed()
    outcome = _outcome(row, judged, decision) if judged.outcome else ()
    won = _swapped(row, judged, submitted.seen, outcome, params)
    if won is None:
        return None
    status, at, effective_at = won
    if judged.edit is not None:
        row = replace(row, standing_args=judged.edit[0], standing_hash=judged.edit[1])
    row = replace(row, **judged.progress.columns)
    if judged.outcome:
        row = replace(
            row,
            status=status,
            outcome=judged.outcome,
            comment=decision.comment,
            decided_by=decision.reviewer,
            decided_by_name=decision.name,
            what_next=decision.what_next,
            decided_args=judged.decided_args,
            decided_at=at,
            effective_at=effective_at,
        )
    return RecordedVerdict(row, judged, decision, digest, at)


def _outcome(row: ApprovalRow, judged: Judged, decision: NewDecision) -> tuple[Any, ...]:
    """The parameters of _OUTCOME."""
    window = window_of(row)
    return (
        window,
        judged.outcome,
        decision.comment,
        decision.reviewer,
        decision.name,
        decision.what_next,
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
    """(status, time, when it takes effect), written only if the approval is still as seen."""
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


def _record_event(recorded: RecordedVerdict, submitted: SubmittedVerdict) -> None:
    """Record the verdict's event; wake the thread, end it or notify the next reviewers."""
    row, judged, decision = recorded.row, recorded.judged, recorded.decision
    facts: dict[str, Any] = {
        "decision": decision.id,
        "digest": recorded.digest,
        "verdict": decision.verdict,
        "by_name": decision.name,
        "seen": submitted.seen,
        "void": judged.void,
        "confirmed_at": submitted.reviewer.confirmed_at,
        "for_person": decision.for_person,
    }
    if not judged.outcome:
        missing = None if judged.asks else judged.progress.missing
        data = decision_rows.recorded(
            row, comment=decision.comment, at=recorded.at, missing=missing, **facts
        )
        event = store.NewEvent(EventKind.DECISION_RECORDED, data, decision.reviewer)
        if judged.asks:
            # The agent answers the question; one vote of several leaves it asleep.
            store.wake(row.thread, event=event)
            return
        store.add_event(row.thread, event)
        if judged.turn:
            announce_turn(row, judged.progress, void=judged.void)
        return
    held = row.status == "held"
    data = decision_rows.decided(row, held=held, **facts)
    kind, by = EventKind.APPROVAL_DECIDED, decision.reviewer
    if held:
        store.add_event(row.thread, store.NewEvent(kind, data, by))
    else:
        takes_effect(row, kind, data, actor=by, by=by)


def note_refusal(row: ApprovalRow, *, reviewer: Reviewer, verdict: str, error: FourEyes) -> None:
    """Log that somebody tried who may not, in a transaction of its own."""
    data = decision_rows.refused(row, verdict=verdict, why=error.message, by_name=reviewer.name)
    store.add_event(row.thread, store.NewEvent(EventKind.DECISION_REFUSED, data, reviewer.id))


def _explain(submitted: SubmittedVerdict) -> None:
    """Raise what explains best why nothing was written; return if it can be tried again."""
    approval, workspace = submitted.approval, submitted.workspace
    row = queries.approval(approval, workspace=workspace)
    if row.status == "held":
        settle_held(approval, thread=row.thread, workspace=workspace)
        row = queries.approval(approval, workspace=workspace)
    if not row.open:
        raise AlreadyDecided(row)
    if row.standing_hash != submitted.seen:
        raise ProposalChanged
    # Its deadline may have passed: it expires now, or a policy calls in others, who have more time.
    expire(approval, thread=row.thread, workspace=workspace)
