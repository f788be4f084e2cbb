"""Moving the head back: the plan, the undo of effects under lease, nothing deleted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.db import connection, transaction

from .. import queries
from .. import undo as plans
from ..errors import LeaseLost, NotAllowedNow, NotFound, StaleVersion
from ..postgres.named_rows import fetch_named
from ..records import Work
from ..state import deltas
from ..states import CANCELLABLE, EventKind, Status, sources
from . import interrupted_effects
from .settled_streams import pass_stream, settle_stream
from .statement.guards import in_statuses, refuse, versioned
from .statement.moves import Move, NewEvent, perform
from .steps import SEEN, leased, release, update_work


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

    1. Check that `checkpoint` is one of this thread, on the way to its head.
    2. Write down the plan: `undo` are the effects to compensate, last first.
    3. Take the lease from the worker and store the plan, in one transaction, if the head is still
       `head`; effects that had started and not ended are `unknown` from then on.
    4. If the head has moved, raise StaleVersion: nothing happens beyond what was shown.

    Raises NotFound, NotAllowedNow, StaleVersion.
    """
    rows = fetch_named(
        "SELECT number, step FROM gp_checkpoint WHERE thread_id = %s::uuid AND id = %s::uuid",
        (thread, checkpoint),
    )
    if not rows:
        raise NotFound("This checkpoint belongs to another thread; fork that one instead.")
    if checkpoint == head:
        raise NotAllowedNow("The thread is already at this checkpoint.")
    [target] = rows
    # On a branch that was left no effect comes "after" the target: the plan would undo effects
    # that its own past rests on.
    ranges = queries.branch_ranges(thread, head)
    if not any(owner == thread and lo <= target.number <= hi for owner, _, lo, hi, _ in ranges):
        raise NotAllowedNow(
            "An earlier rollback left this checkpoint behind; fork from it to continue there."
        )
    plan = plans.plan(
        target=checkpoint,
        number=target.number,
        step=target.step,
        undo=undo,
        reason=reason,
        run_on=run_on,
        by=actor,
    )
    _begin(
        thread,
        plan,
        froms=sources(EventKind.ROLLBACK_STARTED),
        head=head,
        expected_version=expected_version,
        wanted="Rolling back",
    )


def cancel_and_undo(
    thread: UUID, *, plan: dict[str, Any], head: UUID, expected_version: int | None = None
) -> None:
    """Any unfinished status -> rolling_back; a worker then undoes and cancels the thread.

    `plan` as of `undo.plan_back_to`, made for the head `head`; raises StaleVersion as `roll_back`.
    """
    _begin(
        thread,
        plan,
        froms=tuple(CANCELLABLE),
        head=head,
        expected_version=expected_version,
        wanted="Cancelling",
    )


def take_back(thread: UUID, *, plan: dict[str, Any], head: UUID) -> None:
    """As `cancel_and_undo`, also for a thread that has ended: any but rolling_back."""
    _begin(
        thread,
        plan,
        froms=sources(EventKind.ROLLBACK_STARTED),
        head=head,
        expected_version=None,
        wanted="Undoing",
    )


def _begin(
    thread: UUID,
    plan: dict[str, Any],
    *,
    froms: tuple[Status, ...],
    head: UUID,
    expected_version: int | None,
    wanted: str,
) -> None:
    """Start a rollback from one of these statuses, if the head is still the plan's."""
    with transaction.atomic(savepoint=False):
        # What was buffered after it has no effects: the plan stays as it was made.
        settled = settle_stream(thread, actor=plan["by"], may_pass=True)
        if settled is not None and settled.before == head:
            head = settled.after
        move = versioned(
            Move(thread, f"{in_statuses(froms)} AND th.head = %s::uuid", (head,)), expected_version
        )
        _store_plan(move, plan, plan["by"])
        effects = interrupted_effects.underway(thread)
        payload = {**plan, **interrupted_effects.as_json(effects)}
        move.events = [
            NewEvent(EventKind.ROLLBACK_STARTED, payload, plan["by"], plans.version(plan))
        ]
        how = "cancelled" if plan.get("then") == plans.CANCELLED else "rolled back"
        why = f"The thread was {how} while this was under way; whether it happened is unknown."
        interrupted_effects.mark(move, effects, actor=plan["by"], why=why)
        moved = perform(move)
        if moved is not None and settled is not None and settled.is_unreachable:
            pass_stream(thread, actor=plan["by"])
    if moved is None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT head FROM gp_thread WHERE id = %s::uuid", (thread,))
            now = cursor.fetchone()
        if now is not None and now[0] != head:
            raise StaleVersion
        refuse(thread, expected_version=expected_version, wanted=wanted)


def fail_and_undo(work: Work, plan: dict[str, Any], *, events: Sequence[NewEvent] = ()) -> None:
    """running -> rolling_back: the step failed, and its agent wants done effects undone.

    The lease is given back; the next worker undoes and lets the thread end as failed. Raises
    LeaseLost.
    """
    move = leased(work)
    _store_plan(move, plan, work.owner)
    move.events = [*events, *move.events]
    move.returning = SEEN
    seen = perform(move)
    if seen is None:
        raise LeaseLost(thread=work.thread)
    update_work(work, seen)


def _store_plan(move: Move, plan: dict[str, Any], actor: str) -> None:
    """Store the plan in the thread's row and free the lease: any worker may carry it out."""
    move.to_status(Status.ROLLING_BACK, reason=plan["reason"])
    move.set("rollback", deltas.canonical(plan).decode())
    move.express("wish", "''")
    move.express("waiting_on", "NULL")
    move.express("wake_at", "NULL")
    move.express("crash_count", "0")
    release(move)
    move.events = [NewEvent(EventKind.ROLLBACK_STARTED, plan, actor, plans.version(plan))]


def record_compensation(
    work: Work,
    activity: UUID,
    *,
    kind: EventKind,
    tool: str = "",
    result: Any = None,
    error: str = "",
    again_in: float | None = None,
) -> bool:
    """Log that the undo of an effect of `tool` starts, is done (once) or failed; raises LeaseLost.

    False when it had been recorded as done before: then nothing is written. With `again_in`
    seconds the lease is given back, and nobody takes the thread before that time.
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
        if work.crash_count:
            move.express("crash_count", "0")
    if error:
        data["error"] = error
    if again_in is not None:
        data["again_in"] = again_in
        release(move)
        move.express("wake_at", "clock_timestamp() + make_interval(secs => %s)", again_in)
    move.events = [NewEvent(kind, data, work.owner)]
    move.returning = SEEN
    seen = perform(move)
    if seen is None:
        raise LeaseLost(thread=work.thread)
    update_work(work, seen)
    return True
