"""Records of what happened once: activities, effects, finished nodes of an unfinished step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from hashlib import sha256
from typing import Any, Required, TypedDict, Unpack

from django.db import connection

from ..errors import LeaseLost
from ..log.seals import activity_seal
from ..postgres import reads as prepared
from ..records import STOP, NewActivity, Position, Work
from ..state import deltas
from ..states import EventKind
from ..tables.columns import ACTIVITY, POSITION
from .signals import take_signals
from .statement.moves import Insert, Move, NewEvent, perform
from .statement.text import row_sql
from .steps import SEEN, leased, refresh, update_work

_POSITION = f"(thread_id, {', '.join(POSITION)})"


# Of events that name an activity; since 2 a first attempt and the first place go without saying.
NAMING_V = 2


def name_activity(activity: NewActivity) -> dict[str, Any]:
    """The fields by which an event names an activity."""
    p = activity.position
    named = {
        "activity": str(activity.id),
        "branch": p.branch,
        "step": p.step,
        "node": p.node,
        "key": p.key,
        "tool": activity.tool,
    }
    if p.index:
        named["index"] = p.index
    if activity.attempts > 1:
        named["attempt"] = activity.attempts
    return named | described(activity.usage)


def described(usage: Any) -> dict[str, str]:
    """The tool's description of the call, which the event of an effect repeats from its record."""
    sentence = usage.get("sentence") if isinstance(usage, dict) else ""
    return {"sentence": str(sentence)} if sentence else {}


_OF_ITS_OWN = {"node": EventKind.NODE_FINISHED, "value": EventKind.VALUE_RECORDED}
OF_THREAD = {"thread_id": "t.id", "workspace_id": "t.workspace_id", "started_at": "t.last_at"}
_COLUMNS = ACTIVITY.without("cursor", "progress", "undo_result")
# A row of this position may stand there as merely started (progress was shown, or the worker died
# in the call); what is done is never written over. All that the event seals is written anew: also
# the idempotency key, which formerly activities had too.
_WRITTEN_ANEW = _COLUMNS.without("id", "thread_id", "workspace_id", *POSITION, "kind")


def upsert(**more: str) -> str:
    """SQL that updates a row that exists already; `more` are columns with their SQL."""
    anew = {column: f"EXCLUDED.{column}" for column in _WRITTEN_ANEW} | more
    return (
        f"ON CONFLICT {_POSITION} DO UPDATE SET "
        + ", ".join(f"{column} = {sql}" for column, sql in anew.items())
        + " WHERE gp_activity.state IN ('planned', 'started', 'failed')"
    )


_STARTED = row_sql(_COLUMNS, OF_THREAD | {"finished_at": "NULL::timestamptz"}, upsert())
# A result takes the place of the cursor that led to it; after a failure the next call needs it,
# if it is asked the same. The hash also says the same salt: what seals the cursor still fits it.
_ENDED = row_sql(
    _COLUMNS,
    OF_THREAD | {"finished_at": "t.last_at"},
    upsert(
        cursor="CASE WHEN EXCLUDED.state = 'failed' "
        "AND EXCLUDED.input_hash = gp_activity.input_hash THEN gp_activity.cursor END"
    ),
)
# How far a working activity is, shown before anything is recorded of it.
_SHOWN = row_sql(
    ACTIVITY.without("cursor", "undo_result", "started_at", "finished_at"),
    {"thread_id": "th.id", "workspace_id": "th.workspace_id"},
    f"ON CONFLICT {_POSITION} DO UPDATE SET progress = EXCLUDED.progress "
    "WHERE gp_activity.state = 'started'",
)
_SHOW = (
    f"INSERT INTO gp_activity ({', '.join(_SHOWN.sql)}) SELECT {', '.join(_SHOWN.sql.values())} "
    "FROM gp_thread th WHERE th.id = %s::uuid AND th.lease_token = %s::uuid " + _SHOWN.conflict
)
# What `as_written` reads.
WRITTEN = ACTIVITY.only(
    *("id", *POSITION, "kind", "tool", "state", "args", "salt", "attempts", "usage"),
    *("idempotency_key", "undo", "approval_id"),
)


def as_written(row: Mapping[str, Any]) -> NewActivity:
    """An activity as its writer described it, from the columns WRITTEN: enough for its seal."""
    return NewActivity(
        id=row["id"],
        position=Position(row["branch"], row["step"], row["node"], row["index"], row["key"]),
        kind=row["kind"],
        tool=row["tool"],
        args=deltas.decode(row["args"]),
        idempotency_key=row["idempotency_key"],
        undo=row["undo"],
        approval=row["approval_id"],
        revision=row["revision"],
        attempts=row["attempts"],
        usage=None if row["usage"] is None else deltas.decode(row["usage"]),
        salt=row["salt"],
    )


def salted_hash(activity: NewActivity, encoded: bytes) -> bytes:
    """The hash under which the log knows a value of the activity."""
    return sha256(activity.salt + encoded).digest()


def seal_of(
    activity: NewActivity, state: str, *, result: bytes | None, error: str, usage: Any
) -> str:
    """The seal of the row as it is after this write; `result` is its hash."""
    p = activity.position
    return activity_seal(
        {
            "id": activity.id,
            "branch": p.branch,
            "step": p.step,
            "node": p.node,
            "index": p.index,
            "key": p.key,
            "revision": activity.revision,
            "kind": activity.kind,
            "tool": activity.tool,
            "state": state,
            "input_hash": salted_hash(activity, deltas.canonical(activity.args)),
            "result_hash": result,
            "error": error,
            "attempts": activity.attempts,
            "usage": usage,
            "idempotency_key": activity.idempotency_key,
            "undo": activity.undo,
            "approval_id": activity.approval,
        }
    )


def written_as(
    activity: NewActivity, state: str, result: Any = None, error: str = "", usage: Any = None
) -> tuple[Insert, dict[str, Any]]:
    """(the row of an activity, what its event says of it)."""
    p = activity.position
    args = deltas.canonical(activity.args)
    encoded = None if state != "done" else deltas.canonical(result)
    result_hash = None if encoded is None else salted_hash(activity, encoded)
    into = _STARTED if state == "started" else _ENDED
    row = into.values(
        id=activity.id,
        branch=p.branch,
        step=p.step,
        node=p.node,
        index=p.index,
        key=p.key,
        revision=activity.revision,
        kind=activity.kind,
        tool=activity.tool,
        state=state,
        args=args.decode(),
        salt=activity.salt,
        input_hash=salted_hash(activity, args),
        result=None if encoded is None else encoded.decode(),
        result_hash=result_hash,
        error=error,
        attempts=activity.attempts,
        usage=None if usage is None else deltas.canonical(usage).decode(),
        idempotency_key=activity.idempotency_key,
        undo=activity.undo,
        approval_id=activity.approval,
    )
    data = name_activity(activity) | {
        "seal": seal_of(activity, state, result=result_hash, error=error, usage=usage)
    }
    return Insert(into, row), data


def failing(error: str, retry_in: float | None) -> dict[str, Any]:
    """The event's fields of a failed attempt: its error, and the seconds until the next attempt."""
    payload: dict[str, Any] = {"error": error} if error else {}
    return payload if retry_in is None else payload | {"retry_in": round(retry_in, 3)}


def recorded_kind(activity: NewActivity, error: str) -> EventKind:
    """The kind of the event that records an attempt at a pure activity."""
    if activity.kind == "model":
        return EventKind.MODEL_FAILED if error else EventKind.MODEL_ANSWERED
    if activity.kind in _OF_ITS_OWN:
        return _OF_ITS_OWN[activity.kind]
    return EventKind.ACTIVITY_FAILED if error else EventKind.ACTIVITY_FINISHED


class Outcome(TypedDict, total=False):
    """The outcome of a call: its result or error, seconds until the next attempt, its usage."""

    result: Any
    error: str
    retry_in: float | None
    usage: Any


class EffectOutcome(Outcome):
    """The outcome of an effect, and the state in which that leaves it."""

    state: Required[str]


def recorded(
    owner: str,
    activity: NewActivity,
    *,
    result: Any = None,
    error: str = "",
    retry_in: float | None = None,
    usage: Any = None,
) -> tuple[Insert, NewEvent]:
    """The row of a finished or failed activity, and the event that records it."""
    row, data = written_as(activity, "failed" if error else "done", result, error, usage)
    data |= failing(error, retry_in)
    if usage:
        data["usage"] = usage
    return row, NewEvent(recorded_kind(activity, error), data, owner, NAMING_V)


def started(owner: str, activity: NewActivity) -> tuple[Insert, NewEvent]:
    """The row of an effect that is about to happen, and the event that records it."""
    row, data = written_as(activity, "started", usage=activity.usage)
    data["idempotency_key"] = activity.idempotency_key
    data["approval"] = None if activity.approval is None else str(activity.approval)
    return row, NewEvent(EventKind.EFFECT_STARTED, data, owner, NAMING_V)


def ended(
    owner: str,
    activity: NewActivity,
    *,
    state: str,
    result: Any = None,
    error: str = "",
    retry_in: float | None = None,
    usage: Any = None,
) -> tuple[Insert, NewEvent]:
    """The row of an effect with its outcome, and the event that records it."""
    row, data = written_as(activity, state, result, error, usage)
    data |= {"state": state} | described(usage) | failing(error, retry_in)
    kind = EventKind.EFFECT_FINISHED if state == "done" else EventKind.EFFECT_FAILED
    return row, NewEvent(kind, data, owner, NAMING_V)


def record_activity(
    work: Work,
    activity: NewActivity,
    *,
    events: Sequence[NewEvent] = (),
    signals: Sequence[int] = (),
    **outcome: Unpack[Outcome],
) -> None:
    """Commit a finished (or failed) activity as a save point, in one statement.

    `outcome` is that of `recorded`; `retry_in` there: seconds until a failed one is called again,
    None when it is not. Tokens and cost of `usage` are added to the thread's. It settles `signals`,
    by the numbers of their events. Raises LeaseLost: the result then counts for nothing.
    """
    record_activities(work, [(activity, outcome)], events=events, signals=signals)


def record_activities(
    work: Work,
    made: Sequence[tuple[NewActivity, Outcome]],
    *,
    events: Sequence[NewEvent] = (),
    signals: Sequence[int] = (),
) -> None:
    """Commit several of them in one statement, each with its outcome; it settles `signals`."""
    move = leased(work)
    add_activities(move, work.owner, made, events)
    take_signals(move, signals)
    worked = not all(outcome.get("error") for _, outcome in made)
    if work.crash_count and worked:
        move.express("crash_count", "0")
    move.returning = SEEN
    seen = perform(move)
    if seen is None:
        raise LeaseLost(thread=work.thread)
    if worked:
        work.crash_count = 0
    update_work(work, seen)


def add_activities(
    move: Move,
    owner: str,
    made: Sequence[tuple[NewActivity, Outcome]],
    events: Sequence[NewEvent] = (),
) -> None:
    """Let a move write activities with their outcomes, and count what they took."""
    rows = [recorded(owner, activity, **outcome) for activity, outcome in made]
    usages = [usage for _, outcome in made if (usage := outcome.get("usage"))]
    if counts := [usage["tokens"] for usage in usages if "tokens" in usage]:
        move.express("tokens", "th.tokens + %s::bigint", sum(counts))
    if costs := [Decimal(usage["cost"]) for usage in usages if "cost" in usage]:
        move.express("cost", "th.cost + %s::numeric", str(sum(costs)))
    move.inserts = [row for row, _ in rows]
    move.events = [*events, *(event for _, event in rows)]


def start_activity(
    work: Work,
    activity: NewActivity,
    *,
    events: Sequence[NewEvent] = (),
    only_if: prepared.Query | None = None,
) -> bool:
    """Commit that an effect is about to happen, before it happens; raises LeaseLost.

    An approval named by the activity is consumed here: its id is unique among activities.
    `only_if` is a condition, true or false by itself; False: it did not hold, or a breaker stops
    the thread (`work.is_stopped` then); nothing is written.
    """
    move = leased(work)
    move.guard += f" AND th.wish <> '{STOP}'"
    if only_if is not None:
        condition, values = only_if
        move.guard += f" AND ({condition})"
        move.guard_params = (*move.guard_params, *values)
    row, event = started(work.owner, activity)
    move.inserts = [row]
    move.events = [*events, event]
    move.returning = SEEN
    seen = perform(move)
    if seen is None:
        if refresh(work) and (only_if is not None or work.is_stopped):
            return False
        raise LeaseLost(thread=work.thread)
    update_work(work, seen)
    return True


def finish_activity(
    work: Work,
    activity: NewActivity,
    *,
    events: Sequence[NewEvent] = (),
    **outcome: Unpack[EffectOutcome],
) -> None:
    """Commit the outcome of a started effect, as `ended` has it; raises LeaseLost."""
    move = leased(work)
    row, event = ended(work.owner, activity, **outcome)
    now = row.params
    move.updates = [
        (
            "UPDATE gp_activity a SET state = %s::varchar, result = %s::jsonb, "
            "result_hash = %s::bytea, error = %s::text, usage = %s::jsonb, "
            "finished_at = t.last_at FROM t "
            "WHERE a.id = %s::uuid AND a.thread_id = t.id AND a.state = 'started'",
            (now.state, now.result, now.result_hash, now.error, now.usage, activity.id),
        )
    ]
    move.events = [event, *events]
    if now.state == "done" and work.crash_count:
        move.express("crash_count", "0")
    move.returning = SEEN
    seen = perform(move)
    if seen is None:
        raise LeaseLost(thread=work.thread)
    update_work(work, seen)


def report_progress(work: Work, activity: NewActivity, progress: dict[str, Any]) -> None:
    """Show how far a working activity is; mutable, unchained, at most once a second."""
    row, _ = written_as(activity, "started")
    shown = _SHOWN.values(**row.params._asdict(), progress=deltas.canonical(progress).decode())
    with connection.cursor() as cursor:
        cursor.execute(_SHOW, (*shown, work.thread, work.token))
