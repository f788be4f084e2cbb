"""Records of what happened once: activities, effects, finished nodes of an unfinished step."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import Any

from django.db import connection

from ..errors import LeaseLost
from ..log.seals import activity_seal
from ..postgres import reads as prepared
from ..records import NewActivity, Position, Work
from ..state import deltas
from ..states import EventKind
from .statement.moves import Insert, NewEvent, perform
from .statement.text import Columns
from .steps import _SEEN, _see, leased, refresh

_POSITION = "(thread_id, branch, step, node, index, key, revision)"


# Of events that name an activity; since 2 a first attempt and the first place go without saying.
NAMING_V = 2


def _named(activity: NewActivity) -> dict[str, Any]:
    """How an event names an activity."""
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
    """What the event of an effect repeats of its record: how the tool describes the call."""
    sentence = usage.get("sentence") if isinstance(usage, dict) else ""
    return {"sentence": str(sentence)} if sentence else {}


_OF_ITS_OWN = {"node": EventKind.NODE_FINISHED, "value": EventKind.VALUE_RECORDED}
_COLUMNS = {
    "thread_id": "t.id",
    "workspace_id": "t.workspace_id",
    "id": "%s::uuid",
    "branch": "%s::integer",
    "step": "%s::integer",
    "node": "%s::varchar",
    "index": "%s::integer",
    "key": "%s::varchar",
    "revision": "%s::smallint",
    "kind": "%s::varchar",
    "tool": "%s::varchar",
    "state": "%s::varchar",
    "args": "%s::jsonb",
    "salt": "%s::bytea",
    "input_hash": "%s::bytea",
    "result": "%s::jsonb",
    "result_hash": "%s::bytea",
    "error": "%s::text",
    "attempts": "%s::smallint",
    "usage": "%s::jsonb",
    "idempotency_key": "%s::varchar",
    "undo": "%s::varchar",
    "approval_id": "%s::uuid",
    "started_at": "t.last_at",
}
# A row of this position may stand there as merely started (progress was shown, or the worker died
# in the call); what is done is never written over. All that the event seals is written anew.
_WRITTEN_ANEW = (
    "tool",
    "state",
    "args",
    "salt",
    "input_hash",
    "result",
    "result_hash",
    "error",
    "attempts",
    "usage",
    # The same for an effect; formerly activities had one too.
    "idempotency_key",
    "undo",
    "approval_id",
    "started_at",
    "finished_at",
)


def upsert(**more: str) -> str:
    """What becomes of a row that stands there; `more` are columns with their SQL."""
    anew = {column: f"EXCLUDED.{column}" for column in _WRITTEN_ANEW} | more
    return (
        f"ON CONFLICT {_POSITION} DO UPDATE SET "
        + ", ".join(f"{column} = {sql}" for column, sql in anew.items())
        + " WHERE gp_activity.state IN ('planned', 'started', 'failed')"
    )


_STARTED = Columns("gp_activity", _COLUMNS | {"finished_at": "NULL::timestamptz"}, upsert())
# A result takes the place of the cursor that led to it; after a failure the next call needs it,
# if it is asked the same. The hash also says the same salt: what seals the cursor still fits it.
_ENDED = Columns(
    "gp_activity",
    _COLUMNS | {"finished_at": "t.last_at"},
    upsert(
        cursor="CASE WHEN EXCLUDED.state = 'failed' "
        "AND EXCLUDED.input_hash = gp_activity.input_hash THEN gp_activity.cursor END"
    ),
)


# What `as_written` reads, in this order.
WRITTEN = (
    "id, branch, step, node, index, key, kind, tool, args::text, idempotency_key, undo, "
    "approval_id, revision, attempts, usage::text, salt"
)


def as_written(row: Sequence[Any]) -> NewActivity:
    """An activity as its writer described it, from the columns WRITTEN: enough for its seal."""
    ident, branch, step, node, index, key, kind, tool, args, *more = row
    idempotency_key, undo, approval, revision, attempts, usage, salt = more
    return NewActivity(
        id=ident,
        position=Position(branch, step, node, index, key),
        kind=kind,
        tool=tool,
        args=deltas.decode(args),
        idempotency_key=idempotency_key,
        undo=undo,
        approval=approval,
        revision=revision,
        attempts=attempts,
        usage=None if usage is None else deltas.decode(usage),
        salt=bytes(salt),
    )


def _hashed(activity: NewActivity, encoded: bytes) -> bytes:
    return sha256(activity.salt + encoded).digest()


def _sealed(
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
            "input_hash": _hashed(activity, deltas.canonical(activity.args)),
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
    result_hash = None if encoded is None else _hashed(activity, encoded)
    params = (
        activity.id,
        p.branch,
        p.step,
        p.node,
        p.index,
        p.key,
        activity.revision,
        activity.kind,
        activity.tool,
        state,
        args.decode(),
        activity.salt,
        _hashed(activity, args),
        None if encoded is None else encoded.decode(),
        result_hash,
        error,
        activity.attempts,
        None if usage is None else deltas.canonical(usage).decode(),
        activity.idempotency_key,
        activity.undo,
        activity.approval,
    )
    data = _named(activity) | {
        "seal": _sealed(activity, state, result=result_hash, error=error, usage=usage)
    }
    return Insert(_STARTED if state == "started" else _ENDED, params), data


def failing(error: str, retry_in: float | None) -> dict[str, Any]:
    """What the event of a failed attempt says besides: why, and in how many seconds the next is."""
    said: dict[str, Any] = {"error": error} if error else {}
    return said if retry_in is None else said | {"retry_in": round(retry_in, 3)}


def told_by(activity: NewActivity, error: str) -> EventKind:
    """The kind of the event that tells of an attempt at a pure activity."""
    if activity.kind == "model":
        return EventKind.MODEL_FAILED if error else EventKind.MODEL_ANSWERED
    if activity.kind in _OF_ITS_OWN:
        return _OF_ITS_OWN[activity.kind]
    return EventKind.ACTIVITY_FAILED if error else EventKind.ACTIVITY_FINISHED


def record_activity(
    work: Work,
    activity: NewActivity,
    *,
    result: Any = None,
    error: str = "",
    retry_in: float | None = None,
    usage: Any = None,
    events: Sequence[NewEvent] = (),
) -> None:
    """Commit a finished (or failed) activity as a save point, in one statement.

    `retry_in`: seconds until a failed one is called again; None when it is not. Tokens and cost of
    `usage` are added to the thread's. Raises LeaseLost: the result then counts for nothing.
    """
    state = "failed" if error else "done"
    move = leased(work)
    row, data = written_as(activity, state, result, error, usage)
    kind = told_by(activity, error)
    data |= failing(error, retry_in)
    if usage:
        data["usage"] = usage
        if "cost" in usage:
            move.express("tokens", "th.tokens + %s::bigint", usage["tokens"])
            move.express("cost", "th.cost + %s::numeric", usage["cost"])
    move.inserts = [row]
    move.events = [*events, NewEvent(kind, data, work.owner, NAMING_V)]
    if work.crash_count and not error:
        move.express("crash_count", "0")
    move.returning = _SEEN
    seen = perform(move)
    if seen is None:
        raise LeaseLost(thread=work.thread)
    if not error:
        work.crash_count = 0
    _see(work, seen)


def start_activity(
    work: Work,
    activity: NewActivity,
    *,
    events: Sequence[NewEvent] = (),
    only_if: prepared.Asked | None = None,
) -> bool:
    """Commit that an effect is about to happen, before it happens; raises LeaseLost.

    An approval named by the activity is consumed here: its id is unique among activities.
    `only_if` is a condition, true or false by itself; False: it did not hold, nothing is written.
    """
    move = leased(work)
    if only_if is not None:
        condition, values = only_if
        move.guard += f" AND ({condition})"
        move.guard_params = (*move.guard_params, *values)
    row, data = written_as(activity, "started", usage=activity.usage)
    move.inserts = [row]
    data["idempotency_key"] = activity.idempotency_key
    data["approval"] = None if activity.approval is None else str(activity.approval)
    move.events = [*events, NewEvent(EventKind.EFFECT_STARTED, data, work.owner, NAMING_V)]
    move.returning = _SEEN
    seen = perform(move)
    if seen is None:
        if only_if is not None and refresh(work):
            return False
        raise LeaseLost(thread=work.thread)
    _see(work, seen)
    return True


def finish_activity(
    work: Work,
    activity: NewActivity,
    *,
    state: str,
    result: Any = None,
    error: str = "",
    retry_in: float | None = None,
    usage: Any = None,
    events: Sequence[NewEvent] = (),
) -> None:
    """Commit the outcome of a started effect: done, failed or unknown; raises LeaseLost."""
    move = leased(work)
    encoded = deltas.canonical(result) if state == "done" else None
    result_hash = None if encoded is None else _hashed(activity, encoded)
    move.updates = [
        (
            "UPDATE gp_activity a SET state = %s::varchar, result = %s::jsonb, "
            "result_hash = %s::bytea, error = %s::text, usage = %s::jsonb, "
            "finished_at = t.last_at FROM t "
            "WHERE a.id = %s::uuid AND a.thread_id = t.id AND a.state = 'started'",
            (
                state,
                None if encoded is None else encoded.decode(),
                result_hash,
                error,
                None if usage is None else deltas.canonical(usage).decode(),
                activity.id,
            ),
        )
    ]
    kind = EventKind.EFFECT_FINISHED if state == "done" else EventKind.EFFECT_FAILED
    data = _named(activity) | {
        "state": state,
        "seal": _sealed(activity, state, result=result_hash, error=error, usage=usage),
    }
    data |= described(usage) | failing(error, retry_in)
    move.events = [NewEvent(kind, data, work.owner, NAMING_V), *events]
    if state == "done" and work.crash_count:
        move.express("crash_count", "0")
    move.returning = _SEEN
    seen = perform(move)
    if seen is None:
        raise LeaseLost(thread=work.thread)
    _see(work, seen)


def report_progress(work: Work, activity: NewActivity, progress: dict[str, Any]) -> None:
    """Show how far a working activity is; mutable, unchained, at most once a second."""
    p = activity.position
    args = deltas.canonical(activity.args)
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO gp_activity (id, thread_id, workspace_id, branch, step, node, index, key,"
            " revision, kind, tool, state, args, salt, input_hash, idempotency_key, undo, error,"
            " attempts, progress) SELECT %s::uuid, th.id, th.workspace_id, %s::integer,"
            " %s::integer, %s::varchar, %s::integer, %s::varchar, %s::smallint, %s::varchar,"
            " %s::varchar, 'started', %s::jsonb, %s::bytea, %s::bytea, %s::varchar, '', '',"
            " %s::smallint, %s::jsonb FROM gp_thread th WHERE th.id = %s::uuid"
            " AND th.lease_token = %s::uuid"
            f" ON CONFLICT {_POSITION} DO UPDATE SET progress = EXCLUDED.progress"
            " WHERE gp_activity.state = 'started'",
            (
                activity.id,
                p.branch,
                p.step,
                p.node,
                p.index,
                p.key,
                activity.revision,
                activity.kind,
                activity.tool,
                args.decode(),
                activity.salt,
                _hashed(activity, args),
                activity.idempotency_key,
                activity.attempts,
                deltas.canonical(progress).decode(),
                work.thread,
                work.token,
            ),
        )
