"""Moving the head back: the plan, the undo of effects under lease, nothing deleted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.db import connection, transaction

from .. import deltas, queries
from ..errors import LeaseLost, NotAllowedNow, NotFound, StaleVersion
from ..records import Work
from ..states import EventKind, Status, sources
from . import underway
from .guards import in_statuses, refuse, versioned
from .steps import _SEEN, _see, leased, release
from .writing import Move, NewEvent, perform


def roll_back(
    thread: UUID,
    *,
    checkpoint: UUID,
    undo: Sequence[UUID],
    reason: str,
    actor: str,
    head: UUID,
    expected_version: int | None = None,
    run_on: bool = False,
) -> None:
    """Every status but rolling_back -> rolling_back; a worker then undoes and moves the head.

    Takes the thread away from its worker; effects that had started and not ended are `unknown`
    from then on. `undo` are the effects to compensate, last first, as
    computed for the head `head`: a thread that moved since raises StaleVersion, so that nothing
    happens beyond what was shown. The target must be a checkpoint of this very thread, on the
    way to its head.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT number, step FROM gp_checkpoint WHERE thread_id = %s::uuid AND id = %s::uuid",
            (thread, checkpoint),
        )
        row = cursor.fetchone()
    if row is None:
        raise NotFound("This checkpoint is not one of this thread's own; fork the base instead.")
    if checkpoint == head:
        raise NotAllowedNow("The thread stands at this checkpoint already.")
    # Beside the way there is no "after": the plan would undo what the target's past rests on.
    way = queries.way(thread, head)
    if not any(owner == thread and lo <= row[0] <= hi for owner, _, lo, hi, _ in way):
        raise NotAllowedNow(
            "An earlier rollback left this checkpoint behind; fork from it to go on there."
        )
    plan = {
        "target": str(checkpoint),
        "number": row[0],
        "step": row[1],
        "undo": [str(a) for a in undo],
        "reason": reason,
        "run_on": run_on,
        "by": actor,
    }
    froms = sources(EventKind.ROLLBACK_STARTED)
    move = versioned(
        Move(thread, f"{in_statuses(froms)} AND th.head = %s::uuid", (head,)), expected_version
    )
    move.to_status(Status.ROLLING_BACK, reason=reason)
    move.set("rollback", deltas.canonical(plan).decode(), "jsonb")
    move.express("wish", "''")
    move.express("waiting_on", "NULL")
    move.express("wake_at", "NULL")
    move.express("crash_count", "0")
    release(move)
    with transaction.atomic(savepoint=False):
        effects = underway.locked(thread)
        data = {**plan, **underway.told(effects)}
        move.events = [NewEvent(EventKind.ROLLBACK_STARTED, data, actor)]
        why = "The thread was rolled back while this was under way; whether it happened is unknown."
        underway.mark(move, effects, actor=actor, why=why)
        moved = perform(move)
    if moved is None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT head FROM gp_thread WHERE id = %s::uuid", (thread,))
            now = cursor.fetchone()
        if now is not None and now[0] != head:
            raise StaleVersion
        refuse(thread, expected_version=expected_version, wanted="Rolling back")


def record_compensation(
    work: Work,
    activity: UUID,
    *,
    kind: EventKind,
    tool: str = "",
    result: Any = None,
    error: str = "",
) -> bool:
    """Log that the undo of an effect of `tool` starts, is done (once) or failed; raises LeaseLost.

    False when it had been recorded as done before: then nothing is written.
    """
    move = leased(work)
    data: dict[str, Any] = {"activity": str(activity)} | ({"tool": tool} if tool else {})
    if kind is EventKind.COMPENSATION_FINISHED:
        with connection.cursor() as cursor:
            cursor.execute("SELECT state FROM gp_activity WHERE id = %s::uuid", (activity,))
            row = cursor.fetchone()
        if row is None or row[0] == "compensated":
            return False
        move.updates = [
            (
                "UPDATE gp_activity a SET state = 'compensated', undo_result = %s::jsonb "
                "FROM t WHERE a.id = %s::uuid AND a.thread_id = t.id",
                (deltas.canonical(result).decode(), activity),
            )
        ]
        data["result"] = result
    if error:
        data["error"] = error
    move.events = [NewEvent(kind, data, work.owner)]
    move.returning = _SEEN
    seen = perform(move)
    if seen is None:
        raise LeaseLost(thread=work.thread)
    _see(work, seen)
    return True
