"""Writes of a leased worker: the commit of a step, and leaving the thread."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from uuid import UUID

from django.db import InterfaceError, OperationalError, connection

from ..errors import LeaseLost
from ..log import control_columns
from ..log.pins import SAME_CODE
from ..queries.states import keyframes
from ..records import Work
from ..state import deltas
from ..states import EventKind, Status, target
from .inputs import take
from .signals import take_signals
from .statement.checkpoint_rows import checkpoint_insert, delta_bytes
from .statement.moves import Move, NewCheckpoint, NewEvent, head_sets, perform, returned
from .statement.searchable import change_version, follow
from .statement.text import ALWAYS

RELEASE = {
    "lease_owner": "''",
    "lease_token": "NULL",
    "lease_until": "NULL",
}
# A pause that somebody asked for since the lease was taken stays asked for.
ACCEPTED_ONCE = "CASE WHEN th.wish = 'accept' THEN '' ELSE th.wish END"
SEEN = ("version", "wake_seq", "wish", "wish_by", "pause_at")


def release(move: Move) -> None:
    """Give the lease back in the same statement."""
    for column, sql in RELEASE.items():
        move.express(column, sql)


def leased(work: Work) -> Move:
    """A move that only the holder of the lease can make."""
    return Move(work.thread, "th.lease_token = %s::uuid", (work.token,))


def commit_step(
    work: Work,
    checkpoint: NewCheckpoint,
    *,
    before: Sequence[NewEvent] = (),
    events: Sequence[NewEvent] = (),
    leave_by: EventKind | None = None,
    reason: str = "",
    taken: Sequence[int] = (),
    left_by: str = "",
    also: Callable[[Move], None] | None = None,
    seen: int | None = None,
) -> None:
    """Commit one step: checkpoint, events and new head, in one statement and one transaction.

    1. Guard by lease and head, and by `seen`: the number of the newest event that the caller knows.
    2. Add checkpoint, events and the messages `taken` into the state. `before` are events of the
       step itself (thoughts), `events` what follows from it, `also` whatever else happens with it.
    3. With `leave_by` leave the thread (thread.succeeded, thread.paused ...) and give the lease
       back; `left_by` is who wanted that, if a person.
    4. Perform the statement, and let `work` stand on the new head.

    Raises LeaseLost when the lease or the head is no longer ours: nothing was written. When the
    answer to the COMMIT is lost with the connection, the head is read again: the checkpoint's id
    was chosen beforehand, so equal means committed.
    """
    inserts, committed = checkpoint_insert(work.thread, checkpoint)
    move = Move(
        work.thread,
        "th.lease_token = %s::uuid AND th.head = %s::uuid",
        (work.token, work.head),
    )
    if seen is not None:
        move.guard += " AND th.last_seq = %s::bigint"
        move.guard_params = (*move.guard_params, seen)
    head_sets(move, checkpoint)
    follow(move, checkpoint, head=work.head, version=work.agent_version)
    if work.crash_count:
        move.express("crash_count", "0")
    move.events = [*before, committed, *events]
    move.inserts = inserts
    take(move, taken)
    move.returning = SEEN
    if leave_by is not None:
        _leave_with(move, work, leave_by, reason=reason, actor=left_by or work.owner)
    if work.status is Status.ROLLING_BACK:
        move.express("rollback", "NULL")
    elif checkpoint.step > work.step:
        move.express("n_steps", "th.n_steps + 1")
    if also is not None:
        also(move)
    row = _perform_or_look(move, checkpoint)
    work.head, work.number, work.step = checkpoint.id, checkpoint.number, checkpoint.step
    work.branch, work.branch_start = checkpoint.branch, checkpoint.branch_start
    work.next_nodes = tuple(checkpoint.next_nodes)
    work.unfolded += keyframes.weight(delta_bytes(inserts[0]))
    work.unfolded_rows += 1
    work.crash_count = 0
    update_work(work, row)


def _leave_with(move: Move, work: Work, by: EventKind, *, reason: str, actor: str) -> None:
    """Let the statement of a step end the work on its thread as well."""
    move.to_status(target(by, work.status), reason=reason)
    release(move)
    message = control_columns.leaving(by, reason=reason)
    move.events = [*move.events, NewEvent(by, message, actor)]
    if by is EventKind.THREAD_PAUSED:
        move.express("wish", "''")
        move.express("pause_at", "''")


def _perform_or_look(move: Move, checkpoint: NewCheckpoint) -> Any:
    """The row of the commit; read from the thread when the answer to it was lost."""
    try:
        row = perform(move)
    except (OperationalError, InterfaceError):
        # The COMMIT may have happened and its answer been lost: only a new connection can say.
        connection.close()
        row = _look(move.thread, "head = %s::uuid", checkpoint.id)
        if row is None:
            raise
    if row is None:
        raise LeaseLost(thread=move.thread)
    return row


def update_work(work: Work, row: Any) -> None:
    """Take over what the statement returned: version, wishes, the number of the last event."""
    work.last_seq = row.last_seq
    if row.status != work.status:
        work.status = Status(row.status)
    work.version, work.wake_seq = row.version, row.wake_seq
    work.wish, work.wish_by, work.pause_at = row.wish, row.wish_by, row.pause_at


def _look(thread: UUID, guard: str, value: UUID) -> Any:
    """The same of the row as it is now; None where `guard`, about the value, does not hold."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT {', '.join(ALWAYS + SEEN)} FROM gp_thread WHERE id = %s::uuid AND {guard}",
            (thread, value),
        )
        values = cursor.fetchone()
    return None if values is None else returned(SEEN)(values)


def record(
    work: Work,
    events: Sequence[NewEvent],
    *,
    taken: Sequence[int] = (),
    signals: Sequence[int] = (),
) -> None:
    """Append events under the lease, `taken` as in `commit_step`; raises LeaseLost.

    It settles `signals`, by the numbers of their events.
    """
    move = leased(work)
    move.events = list(events)
    take(move, taken)
    take_signals(move, signals)
    move.returning = SEEN
    row = perform(move)
    if row is None:
        raise LeaseLost(thread=work.thread)
    update_work(work, row)


def leave(
    work: Work,
    by: EventKind,
    *,
    reason: str = "",
    data: dict[str, Any] | None = None,
    events: Sequence[NewEvent] = (),
    waiting_on: Any = None,
    wake_at_seconds: float | None = None,
    unless_woken: bool = False,
    also: Callable[[Move], None] | None = None,
) -> bool:
    """Stop working on the thread without a checkpoint and give the lease back.

    Moves running -> the status that `by` leads to. With `unless_woken` nothing is written when
    news arrived since `work` last looked (False: go round once more). `also` changes the same
    move. Raises LeaseLost.
    """
    move = leased(work)
    if unless_woken:
        move.guard += " AND th.wake_seq = %s::bigint"
        move.guard_params = (*move.guard_params, work.wake_seq)
    move.to_status(target(by, work.status), reason=reason)
    release(move)
    move.set(
        "waiting_on",
        None if waiting_on is None else deltas.canonical(waiting_on).decode(),
    )
    if wake_at_seconds is not None:
        move.express("wake_at", "clock_timestamp() + make_interval(secs => %s)", wake_at_seconds)
    if by is EventKind.THREAD_PAUSED:
        move.express("wish", "''")
        move.express("pause_at", "''")
    else:
        # Code is accepted for this time: what is installed while the thread waits asks again.
        move.express("wish", ACCEPTED_ONCE)
    body = control_columns.leaving(by, reason=reason, data=data, waiting_on=waiting_on)
    move.events = [*events, NewEvent(by, body, work.owner)]
    if also is not None:
        also(move)
    move.returning = SEEN
    row = perform(move)
    if row is not None:
        update_work(work, row)
        return True
    if unless_woken and refresh(work):
        return False
    raise LeaseLost(thread=work.thread)


def refresh(work: Work) -> bool:
    """Read wishes and wake_seq again; False when the lease is gone."""
    row = _look(work.thread, "lease_token = %s::uuid", work.token)
    if row is None:
        return False
    update_work(work, row)
    return True


def hand_back(work: Work, *, reason: str) -> None:
    """running -> queued: the time slice is over or the worker stops; no crash is counted.

    A thread that is rolling back stays so and only loses its lease. One that a breaker stops says
    which.
    """
    if work.status is Status.ROLLING_BACK:
        move = leased(work)
        release(move)
        if perform(move) is None:
            raise LeaseLost(thread=work.thread)
        return
    data = {"breaker": work.wish_by} if work.is_stopped else None
    leave(work, EventKind.THREAD_HANDED_BACK, reason=reason, data=data)


def adopt_version(work: Work, version: UUID, *, fingerprint: str, same: bool = False) -> None:
    """Continue with another version than the thread stopped with, as its agent's rule says.

    `same`: it is the same code under another fingerprint.
    """
    move = leased(work)
    move.set("agent_version_id", version)
    change_version(move, former=work.agent_version, version=version)
    move.express("wish", ACCEPTED_ONCE)
    move.events = [
        NewEvent(
            EventKind.CODE_CHANGED,
            {
                "from": str(work.agent_version),
                "to": str(version),
                "fingerprint": fingerprint,
                **({"by": SAME_CODE} if same else {}),
            },
            work.owner,
        )
    ]
    move.returning = SEEN
    row = perform(move)
    if row is None:
        raise LeaseLost(thread=work.thread)
    work.agent_version = version
    update_work(work, row)
