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
from .activities import NAMING_V, WRITTEN, _hashed, _named, _sealed, as_written
from .statement.moves import Move, NewEvent, perform
from .steps import _SEEN, _see, leased, release

LOST = "The worker was lost between its start and its end; nobody knows yet whether it happened."
NOT_HAPPENED = "It did not happen, as a person found out."
LOOKS = 3
_ACTIVITY = f"SELECT {WRITTEN}, state FROM gp_activity WHERE thread_id = %s::uuid AND id = %s::uuid"


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

    Only the holder of the lease writes this row, so what is read before stays as it is.
    """
    found = _effect(work.thread, activity)
    if found is None or found[1] != "started":
        return
    effect = found[0]
    move = leased(work)
    move.updates = [
        (
            "UPDATE gp_activity a SET state = 'unknown', error = %s::text, "
            "finished_at = t.last_at FROM t "
            "WHERE a.id = %s::uuid AND a.thread_id = t.id AND a.state = 'started'",
            (LOST, activity),
        )
    ]
    move.events = [told_unknown(effect, work.owner)]
    move.returning = _SEEN
    row = perform(move)
    if row is None:
        raise LeaseLost(thread=work.thread)
    _see(work, row)


def told_unknown(effect: NewActivity, actor: str) -> NewEvent:
    """The event that an effect's outcome is unknown."""
    told = _named(effect) | {
        "state": "unknown",
        "seal": _sealed(effect, "unknown", result=None, error=LOST, usage=effect.usage),
        "error": LOST,
    }
    return NewEvent(EventKind.EFFECT_FAILED, told, actor, NAMING_V)


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
    this activity: AlreadySettled for whoever comes second, NotAllowedNow for a choice that is not
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
            return Status(row[2])
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
        move.set("rollback", deltas.canonical(plan).decode(), "jsonb")
        release(move)
    else:
        move.to_status(Status.QUEUED)
    move.express("wish", "''")
    move.express("waiting_on", "NULL")
    move.express("wake_at", "NULL")
    move.express("crash_count", "0")
    told = settled_data(effect, question, verdict, result=result, reason=reason)
    if "seal" in told:
        move.updates = [_update(effect, verdict, result)]
    following = (
        NewEvent(EventKind.THREAD_RETRIED, {}, actor)
        if plan is None
        else NewEvent(EventKind.ROLLBACK_STARTED, plan, actor)
    )
    move.events = [NewEvent(EventKind.EFFECT_SETTLED, told, actor, NAMING_V), following]
    return move


def settled_data(
    effect: NewActivity, question: Question, verdict: Verdict, *, result: Any, reason: str
) -> dict[str, Any]:
    """What the event of an answer says; with a seal where the record is written."""
    told = _named(effect) | {"verdict": str(verdict), "about": question.kind}
    if reason:
        told["reason"] = reason
    if question.args_hash:
        told["args_hash"] = question.args_hash
    if verdict is Verdict.HAPPENED:
        hashed = _hashed(effect, deltas.canonical(result))
        seal = _sealed(effect, "done", result=hashed, error="", usage=effect.usage)
        return told | {"state": "done", "seal": seal}
    if verdict is Verdict.NOT_HAPPENED:
        seal = _sealed(effect, "failed", result=None, error=NOT_HAPPENED, usage=effect.usage)
        return told | {"state": "failed", "seal": seal}
    return told


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
            _hashed(effect, encoded) if happened else None,
            "" if happened else NOT_HAPPENED,
            effect.id,
        ),
    )


# ---- reading -------------------------------------------------------------------------------------


def _effect(thread: UUID, activity: UUID) -> tuple[NewActivity, str] | None:
    """(an effect of the thread with what its seal needs, its state); None where there is none."""
    with connection.cursor() as cursor:
        cursor.execute(_ACTIVITY, (thread, activity))
        row = cursor.fetchone()
    if row is None:
        return None
    *written, state = row
    return as_written(written), state


def _look(thread: UUID, activity: UUID) -> _Seen:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT version, status, head, number, step, waiting_on::text FROM gp_thread "
            "WHERE id = %s::uuid",
            (thread,),
        )
        row = cursor.fetchone()
    # The thread first: a record that is newer than the version fails at the guard.
    found = _effect(thread, activity)
    if row is None:
        raise NotFound("There is no such thread.")
    if found is None:
        raise _not_asked(thread, activity, Status(row[1]))
    version, status, head, number, step, asked = row
    question = question_of(status, None if asked is None else deltas.decode(asked))
    return _Seen(version, Status(status), head, number, step, question, *found)


def _not_asked(thread: UUID, activity: UUID, status: Status) -> NotAllowedNow:
    """Why there is nothing to answer: mostly somebody else was first."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT actor, data ->> 'verdict' FROM gp_event WHERE thread_id = %s::uuid "
            "AND kind = 'effect.settled' AND data ->> 'activity' = %s::text "
            "ORDER BY seq DESC LIMIT 1",
            (thread, str(activity)),
        )
        row = cursor.fetchone()
    if row is None:
        said = f"Nothing is asked about this effect while the thread is {status}."
        return NotAllowedNow(said, status=status)
    said = f"This has been answered already: {MEANING[Verdict(row[1])]}."
    return AlreadySettled(said, status=status, actor=row[0], verdict=row[1])


def _not_offered(verdict: Verdict, offered: Sequence[Verdict], effect: NewActivity) -> str:
    undoes = verdict in (Verdict.UNDO, Verdict.UNDO_AGAIN) and not effect.undo
    why = f": {effect.tool!r} has no undo" if undoes else ""
    possible = " or ".join(offered) or "none"
    return f"The answer {verdict} is not possible here{why}; possible: {possible}."
