"""Effects on which the engine does not judge alone: lost ones are noted, people's answers kept.

The answer that an unknown effect happened, or did not, is written to its record. Answers about
other arguments leave the record as it is: the event is what the engine looks up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import connection

from ..errors import AlreadySettled, LeaseLost, NotAllowedNow, NotFound, StaleVersion
from ..records import NewActivity, Work
from ..state import deltas
from ..states import EventKind, Status
from ..verdicts import MEANING, Question, Verdict, plan_of_undo, question_of
from .activities import NAMING_V, WRITTEN, as_written, name_activity, salted_hash, seal_of
from .statement.moves import Move, NewEvent, perform
from .steps import SEEN, leased, release, update_work

LOST = "The worker was lost between its start and its end; nobody knows yet whether it happened."
NOT_HAPPENED = "It did not happen, as a person found out."
LOOKS = 3
_ACTIVITY = (
    f"SELECT {WRITTEN.select()} FROM gp_activity WHERE thread_id = %s::uuid AND id = %s::uuid"
)


@dataclass(frozen=True, slots=True)
class _Seen:
    """A thread and one of its effects as they were read; `version` guards what follows."""

    version: int
    status: Status
    head: UUID
    number: int
    step: int
    question: Question | None
    effect: NewActivity
    state: str


def note_unknown(work: Work, activity: UUID) -> None:
    """started -> unknown: an effect whose worker was lost; raises LeaseLost.

    Only the holder of the lease writes this row, so what is read before stays as it is; a report
    of an agent elsewhere keeps the thread's row meanwhile.
    """
    result = effect_as_written(work.thread, activity)
    if result is None or result[1] != "started":
        return
    effect = result[0]
    move = leased(work)
    move.updates = [
        (
            "UPDATE gp_activity a SET state = 'unknown', error = %s::text, "
            "finished_at = t.last_at FROM t "
            "WHERE a.id = %s::uuid AND a.thread_id = t.id AND a.state = 'started'",
            (LOST, activity),
        )
    ]
    move.events = [unknown_event(effect, work.owner)]
    move.returning = SEEN
    row = perform(move)
    if row is None:
        raise LeaseLost(thread=work.thread)
    update_work(work, row)


def unknown_event(effect: NewActivity, actor: str) -> NewEvent:
    """The event that an effect's outcome is unknown."""
    payload = name_activity(effect) | {
        "state": "unknown",
        "seal": seal_of(effect, "unknown", result=None, error=LOST, usage=effect.usage),
        "error": LOST,
    }
    return NewEvent(EventKind.EFFECT_FAILED, payload, actor, NAMING_V)


def settle(
    thread: UUID,
    *,
    activity: UUID,
    verdict: Verdict,
    actor: str,
    result: Any = None,
    reason: str = "",
    expected_version: int | None = None,
) -> Status:
    """attention -> queued, or rolling_back for an undo: the answer about one effect; its status.

    `result` is what an effect that happened is recorded with. The thread must ask about exactly
    this activity: AlreadySettled for the second one, NotAllowedNow for a choice that is not
    there, StaleVersion when it moved since `expected_version`.
    """
    deltas.check(result, "$.result")
    for _ in range(LOOKS):  # It may change hands, labels or version between look and write.
        seen = _look(thread, activity)
        question = seen.question
        if question is None or question.activity != activity:
            raise _not_asked(thread, activity, seen.status)
        if expected_version not in (None, seen.version):
            raise StaleVersion(version=seen.version, status=seen.status)
        offered = question.choices(seen.state, seen.effect.undo)
        if verdict not in offered:
            raise NotAllowedNow(_not_offered(verdict, offered, seen.effect), status=seen.status)
        move = _answer(thread, seen, question, verdict, result=result, reason=reason, actor=actor)
        row = perform(move)
        if row is not None:
            return Status(row.status)
    raise StaleVersion


def _answer(
    thread: UUID,
    seen: _Seen,
    question: Question,
    verdict: Verdict,
    *,
    result: Any,
    reason: str,
    actor: str,
) -> Move:
    # Whatever changes what is asked, or the record, gives the thread a new version.
    move = Move(thread, "th.status = 'attention' AND th.version = %s::bigint", (seen.version,))
    effect, plan = seen.effect, None
    if verdict in (Verdict.UNDO, Verdict.UNDO_AGAIN):
        plan = plan_of_undo(
            verdict,
            effect.id,
            head=seen.head,
            number=seen.number,
            step=seen.step,
            tool=effect.tool,
            reason=reason,
            actor=actor,
        )
        move.to_status(Status.ROLLING_BACK, reason=plan["reason"])
        move.set("rollback", deltas.canonical(plan).decode())
        release(move)
    else:
        move.to_status(Status.QUEUED)
    move.express("wish", "''")
    move.express("waiting_on", "NULL")
    move.express("wake_at", "NULL")
    move.express("crash_count", "0")
    payload = settled_data(effect, question, verdict, result=result, reason=reason)
    if "seal" in payload:
        move.updates = [_update(effect, verdict, result)]
    following = (
        NewEvent(EventKind.THREAD_RETRIED, {}, actor)
        if plan is None
        else NewEvent(EventKind.ROLLBACK_STARTED, plan, actor)
    )
    move.events = [NewEvent(EventKind.EFFECT_SETTLED, payload, actor, NAMING_V), following]
    return move


def settled_data(
    effect: NewActivity, question: Question, verdict: Verdict, *, result: Any, reason: str
) -> dict[str, Any]:
    """Build the payload of the event of an answer; with a seal where the record is written."""
    payload = name_activity(effect) | {"verdict": str(verdict), "about": question.kind}
    if reason:
        payload["reason"] = reason
    if question.args_hash:
        payload["args_hash"] = question.args_hash
    if verdict is Verdict.HAPPENED:
        hashed = salted_hash(effect, deltas.canonical(result))
        seal = seal_of(effect, "done", result=hashed, error="", usage=effect.usage)
        return payload | {"state": "done", "seal": seal}
    if verdict is Verdict.NOT_HAPPENED:
        seal = seal_of(effect, "failed", result=None, error=NOT_HAPPENED, usage=effect.usage)
        return payload | {"state": "failed", "seal": seal}
    return payload


def _update(effect: NewActivity, verdict: Verdict, result: Any) -> tuple[str, tuple[Any, ...]]:
    happened = verdict is Verdict.HAPPENED
    encoded = deltas.canonical(result)
    return (
        "UPDATE gp_activity a SET state = %s::varchar, result = %s::jsonb, "
        "result_hash = %s::bytea, error = %s::text, finished_at = t.last_at FROM t "
        "WHERE a.id = %s::uuid AND a.thread_id = t.id",
        (
            "done" if happened else "failed",
            encoded.decode() if happened else None,
            salted_hash(effect, encoded) if happened else None,
            "" if happened else NOT_HAPPENED,
            effect.id,
        ),
    )


# ---- reading -------------------------------------------------------------------------------------


def effect_as_written(thread: UUID, activity: UUID) -> tuple[NewActivity, str] | None:
    """(an effect of the thread with what its seal needs, its state); None where there is none."""
    with connection.cursor() as cursor:
        cursor.execute(_ACTIVITY, (thread, activity))
        values = cursor.fetchone()
    if values is None:
        return None
    row = WRITTEN.row(values)
    return as_written(row), row["state"]


def _look(thread: UUID, activity: UUID) -> _Seen:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT version, status, head, number, step, waiting_on::text FROM gp_thread "
            "WHERE id = %s::uuid",
            (thread,),
        )
        row = cursor.fetchone()
    # The thread first: a record that is newer than the version fails at the guard.
    result = effect_as_written(thread, activity)
    if row is None:
        raise NotFound("There is no such thread.")
    version, status, head, number, step, request = row
    if result is None:
        raise _not_asked(thread, activity, Status(status))
    question = question_of(status, None if request is None else deltas.decode(request))
    return _Seen(version, Status(status), head, number, step, question, *result)


def _not_asked(thread: UUID, activity: UUID, status: Status) -> NotAllowedNow:
    """Explain why there is nothing to answer: mostly somebody else was first."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT actor, data ->> 'verdict' FROM gp_event WHERE thread_id = %s::uuid "
            "AND kind = 'effect.settled' AND data ->> 'activity' = %s::text "
            "ORDER BY seq DESC LIMIT 1",
            (thread, str(activity)),
        )
        row = cursor.fetchone()
    if row is None:
        message = f"Nothing is asked about this effect while the thread is {status}."
        return NotAllowedNow(message, status=status)
    actor, verdict = row
    message = f"This has been answered already: {MEANING[Verdict(verdict)]}."
    return AlreadySettled(message, status=status, actor=actor, verdict=verdict)


def _not_offered(verdict: Verdict, offered: Sequence[Verdict], effect: NewActivity) -> str:
    undoes = verdict in (Verdict.UNDO, Verdict.UNDO_AGAIN) and not effect.undo
    why = f": {effect.tool!r} has no undo" if undoes else ""
    possible = " or ".join(offered) or "none"
    return f"The answer {verdict} is not possible here{why}; possible: {possible}."
