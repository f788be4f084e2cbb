"""Cursors: where a long activity stands, kept while it works, under its worker's lease."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Any
from uuid import UUID

from django.db import connection

from ..capsules.layout import BadCapsule
from ..capsules.rows import CURSOR
from ..errors import LeaseLost
from ..records import CURSOR_BYTES, NewActivity, Work
from ..state import deltas
from ..states import EventKind
from ..tables.columns import ACTIVITY, POSITION
from .activities import NAMING_V, OF_THREAD, salted_hash, upsert, written_as
from .statement.moves import Insert, NewEvent, perform
from .statement.text import row_sql
from .steps import SEEN, leased, update_work

# The database counts attempts in two bytes, and there is one more to come.
ATTEMPTS_MAX = 2**15 - 1

_CURSOR_ROW = row_sql(
    ACTIVITY.without("undo_result"),
    OF_THREAD | {"finished_at": "NULL::timestamptz"},
    # A call without numbers leaves those of the one before.
    upsert(cursor="EXCLUDED.cursor", progress="coalesce(EXCLUDED.progress, gp_activity.progress)"),
)


def cursor_event(
    work: Work, activity: NewActivity, payload: Mapping[str, Any], cursor: bytes
) -> NewEvent:
    """The event that seals an activity's cursor; `payload` describes the row at work."""
    data = dict(payload) | {
        "input_hash": salted_hash(activity, deltas.canonical(activity.args)).hex(),
        "cursor_hash": salted_hash(activity, cursor).hex(),
        "size": len(cursor),
    }
    return NewEvent(EventKind.CURSOR_KEPT, data, work.owner, NAMING_V)


def keep_cursor(
    work: Work,
    activity: NewActivity,
    *,
    cursor: bytes,
    progress: Any = None,
    moved_on: bool = False,
    events: Sequence[NewEvent] = (),
) -> None:
    """Commit where a working activity stands: canonical JSON, given back when it is called again.

    One statement, and in it the event that seals it. The row is a started one until the result
    takes its place. `moved_on` forgives crashes, as a
    record does. Raises LeaseLost: a fenced worker's cursor is refused.
    """
    row, payload = written_as(activity, "started")
    shown = None if progress is None else deltas.canonical(progress).decode()
    move = leased(work)
    # The row of the thread is written in any case: who takes it over waits, or is waited for.
    move.express("crash_count", "0" if moved_on else "th.crash_count")
    at_work = row.params._asdict() | {"cursor": cursor.decode(), "progress": shown}
    move.inserts = [Insert(_CURSOR_ROW, _CURSOR_ROW.values(**at_work))]
    move.events = [*events, cursor_event(work, activity, payload, cursor)]
    move.returning = SEEN
    seen = perform(move)
    if seen is None:
        raise LeaseLost(thread=work.thread)
    if moved_on:
        work.crash_count = 0
    update_work(work, seen)


# What failed came with its record and gets its cursor back; what was at work had none yet.
_HERE = ("thread_id", "workspace_id", "state", "undo", "error")
_BROUGHT = (
    ACTIVITY.only(*CURSOR, *_HERE).insert
    + " ON CONFLICT (id) DO UPDATE SET cursor = EXCLUDED.cursor"
    + " WHERE gp_activity.thread_id = EXCLUDED.thread_id AND gp_activity.state = 'failed'"
    + "".join(
        f" AND gp_activity.{one} = EXCLUDED.{one}"
        for one in (*POSITION, "kind", "tool", "input_hash")
    )
)


def bring_cursors(thread: UUID, rows: Iterable[Mapping[str, Any]], *, workspace: UUID) -> None:
    """Write where the activities of a capsule stand, beside their records; raises BadCapsule.

    Whether they are those that the log records is verified with all else that came; here stands
    what a former version kept without an event, and what the verifier could not speak of.
    """
    here: dict[str, Any] = dict(zip(_HERE, (thread, workspace, "started", "", ""), strict=True))
    for row in rows:
        _check(row)
        with connection.cursor() as cursor:
            cursor.execute(_BROUGHT, {**row, **here})
            if not cursor.rowcount:
                raise BadCapsule(f"The cursor of {_named(row)} is of another activity than its id.")


def _check(row: Mapping[str, Any]) -> None:
    args, cursor = row["args"], (row["cursor"] or "").encode()
    if row["kind"] in ("effect", "node"):
        raise BadCapsule(f"The capsule has a cursor of {_named(row)}, which can have none.")
    if not cursor or len(cursor) > CURSOR_BYTES:
        raise BadCapsule(f"The cursor of {_named(row)} is empty or over {CURSOR_BYTES:,} bytes.")
    if not 0 < row["attempts"] < ATTEMPTS_MAX:
        raise BadCapsule(f"The cursor of {_named(row)} cannot be of attempt {row['attempts']}.")
    if sha256(row["salt"] + args.encode()).digest() != row["input_hash"]:
        raise BadCapsule(f"The input of {_named(row)} beside its cursor does not match its hash.")


def _named(row: Mapping[str, Any]) -> str:
    return f"{row['tool']!r} in {row['node']!r}"
