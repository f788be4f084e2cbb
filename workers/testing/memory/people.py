"""What people and clocks do to a thread in memory: the store's verbs, with the same refusals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any
from uuid import UUID, uuid4

from uuid_utils.compat import uuid7

from checkpoints import undo as plans
from checkpoints.errors import NotAllowedNow
from checkpoints.limits import CRASHES_ALLOWED
from checkpoints.log.seals import LEASE_V
from checkpoints.records import Work, environment
from checkpoints.state import deltas
from checkpoints.state.channels import Digests
from checkpoints.states import (
    CANCELLABLE,
    EDITABLE,
    STOPS_AHEAD,
    TAKES_INPUT,
    EventKind,
    Status,
    sources,
    target,
)
from checkpoints.store import NewCheckpoint, NewEvent
from checkpoints.store.control import IDLE, skipped, why_not_skipped

from . import reads as reading
from . import requests, savings
from .interrupted_effects import Away, taken_away
from .once import entering, released
from .tables import MemoryTables, Row, read, sealed
from .undo import carried

LEASE_SECONDS = 15.0
S, K = Status, EventKind


def insert_thread(
    tables: MemoryTables, row: Row, checkpoint: NewCheckpoint, kind: EventKind, data: dict[str, Any]
) -> UUID:
    """Enter a thread with its first checkpoint; the first event proves that as well."""
    saved, (committed,) = sealed(tables, row.id, checkpoint, tables.now())
    tables.rows[row.id], tables.events[row.id] = row, []
    tables.set_head(row, saved)
    row.status_since = row.created_at
    event = NewEvent(kind, data | {"checkpoint": committed.data}, row.started_by)
    tables.move(row.id, events=[event])
    return row.id


def acquire(tables: MemoryTables, thread: UUID, *, owner: str) -> Work | None:
    """queued -> running, or take a rollback that nobody works on; None when there is nothing."""
    row = tables.row(thread)
    queued = row.status is S.QUEUED
    resting = row.wake_at is not None and row.wake_at > tables.now()
    if not queued and not (
        row.status is S.ROLLING_BACK and row.lease_token is None and not resting
    ):
        return None
    sets = {"waiting_on": None, "wake_at": None, "status_reason": ""}
    return _take(tables, row, owner, K.LEASE_ACQUIRED, S.RUNNING if queued else None, sets)


def take_over(tables: MemoryTables, thread: UUID, *, owner: str) -> Work | None:
    """Take a lease that its holder let expire; counts a crash. Parks a thread at the third."""
    row = tables.row(thread)
    if row.lease_until is None or row.lease_until > tables.now():
        return None
    if row.crash_count >= CRASHES_ALLOWED - 1:
        reason = (
            f"The worker was lost {CRASHES_ALLOWED} times in a row at this step. Look at the last "
            "events, then retry, edit or roll back."
        )
        sets = released(K.THREAD_PARKED) | {"crash_count": CRASHES_ALLOWED}
        event = NewEvent(K.THREAD_PARKED, {"reason": reason}, owner)
        tables.move(thread, sets=sets, status=S.ATTENTION, reason=reason, events=[event])
        return None
    message = savings.as_json(tables, thread)
    sets = {"crash_count": row.crash_count + 1}
    return _take(tables, row, owner, K.LEASE_TAKEN_OVER, None, sets, message)


def _take(
    tables: MemoryTables,
    row: Row,
    owner: str,
    kind: EventKind,
    status: Status | None,
    sets: Mapping[str, Any],
    payload: Mapping[str, Any] = {},
) -> Work:
    token = uuid4()
    lease = {
        "lease_owner": owner,
        "lease_token": token,
        "lease_until": tables.later(LEASE_SECONDS),
        "fence": row.fence + 1,
    }
    data = {"owner": owner, **environment(), **payload}
    event = NewEvent(kind, data, owner, LEASE_V)
    tables.move(row.id, sets={**sets, **lease}, status=status, events=[event])
    own = {"thread": row.id, "owner": owner, "token": token, "rollback": read(row.rollback)}
    same = [f.name for f in fields(Work) if f.name not in own and hasattr(row, f.name)]
    return Work(**own, **{name: getattr(row, name) for name in same})


def pause(tables: MemoryTables, thread: UUID, *, actor: str, before_node: str = "") -> str:
    """Stop a thread immediately if nobody works on it, else at the next step or before a node."""
    row = tables.row(thread)
    if before_node:
        _in(row, STOPS_AHEAD, "Pausing before a node")
        event = NewEvent(K.PAUSE_REQUESTED, {"before": before_node}, actor)
        tables.move(thread, sets={"pause_at": before_node}, events=[event])
        return "requested"
    if row.status in IDLE:
        reason, event = "Paused by a person", NewEvent(K.THREAD_PAUSED, {}, actor)
        tables.move(thread, status=S.PAUSED, reason=reason, events=[event])
        return "paused"
    if row.status is S.PAUSED:
        return "paused"
    _in(row, {S.RUNNING}, "Pausing")
    if not row.wish:
        event = NewEvent(K.PAUSE_REQUESTED, {}, actor)
        tables.move(thread, sets={"wish": "pause", "wish_by": actor}, events=[event])
    return "requested"


def resume(tables: MemoryTables, thread: UUID, *, actor: str) -> None:
    """paused -> queued; a fork that is over its budget is granted it once more."""
    fork = reading.fork_budget(tables, thread)
    again = fork.granted_again() if fork is not None and fork.why_over else None
    message = {"budget": again} if again else {}
    _move_on(tables, thread, K.THREAD_RESUMED, actor, "Resuming", message, crash_count=0)
    if again:
        tables.budgets[thread] = tables.budgets[thread][0], again


def retry(tables: MemoryTables, thread: UUID, *, actor: str) -> None:
    """failed or attention -> queued from the head; or on with a rollback that was not finished."""
    row = tables.row(thread)
    half = row.status is S.ATTENTION and row.rollback is not None
    by = K.ROLLBACK_RETRIED if half else K.THREAD_RETRIED
    free = released(by) if half else {}
    message = savings.as_json(tables, thread) if savings.faulty(row) else {}
    _move_on(tables, thread, by, actor, "Retrying", message, crash_count=0, **free)


def skip(tables: MemoryTables, thread: UUID, *, node: str, reason: str, actor: str) -> None:
    """Record a node of the present step as finished with no update; a paused thread stays."""
    row = tables.row(thread)
    _in(row, set(sources(K.NODE_SKIPPED)), "Skipping a node")
    kind = (read(row.waiting_on) or {}).get("kind", "")
    here = [
        one
        for (owner, at, _), one in tables.activities.items()
        if owner == thread and (at.branch, at.step, at.node) == (row.branch, row.step + 1, node)
    ]
    lost = [a.tool for a in here if a.kind == "effect" and a.state in ("started", "unknown")]
    if why := why_not_skipped(
        node,
        stopped_for=kind if row.rollback is None else "rollback",
        is_next=node in row.next_nodes,
        finished=any(a.kind == "node" and a.state == "done" for a in here),
        unknown=", ".join(lost),
    ):
        raise NotAllowedNow(why, status=str(row.status))
    activity, insert, event = skipped(
        actor, node, branch=row.branch, step=row.step + 1, reason=reason
    )
    tables.move(
        thread,
        sets={"waiting_on": None, "wake_at": None, "crash_count": 0},
        status=target(K.NODE_SKIPPED, row.status),
        events=[event],
        also=entering(tables, thread, activity, insert),
    )


def cancel(tables: MemoryTables, thread: UUID, *, actor: str, reason: str = "") -> None:
    """Any unfinished status -> cancelled, effects stay done; takes it away from its worker."""
    _in(tables.row(thread), CANCELLABLE, "Cancelling")
    requests.withdraw_open(tables, thread, reason="The thread was cancelled.", actor=actor)
    free = released(K.THREAD_CANCELLED) | {"rollback": None}
    away = taken_away(tables, thread, actor=actor, how="cancelled")
    data = {"reason": reason, **away.data}
    _move_on(tables, thread, K.THREAD_CANCELLED, actor, "Cancelling", data, away, **free)


def _move_on(
    tables: MemoryTables,
    thread: UUID,
    by: EventKind,
    actor: str,
    wanted: str,
    data: dict[str, Any] | None = None,
    away: Away | None = None,
    **sets: Any,
) -> None:
    row, away = tables.row(thread), away or Away()
    _in(row, set(sources(by)), wanted)
    code = row.status is S.ATTENTION and (read(row.waiting_on) or {}).get("kind") == "code"
    accepts = code or row.status is S.FAILED
    sets |= {"wish": "accept" if accepts else "", "waiting_on": None, "wake_at": None}
    status = target(by, sources(by)[0])
    tables.move(
        thread,
        sets=sets,
        status=status,
        reason=away.reason,
        events=[*away.events, NewEvent(by, data or {}, actor)],
        also=away.mark,
    )


def edit(
    tables: MemoryTables,
    thread: UUID,
    *,
    changes: Mapping[str, Any],
    reason: str,
    actor: str,
) -> UUID:
    """Write a checkpoint over the head; open requests are withdrawn, a waiting thread pauses."""
    row = tables.row(thread)
    _in(row, EDITABLE, "Editing the state")
    requests.withdraw_open(tables, thread, reason=f"The state was edited: {reason}", actor=actor)
    head = tables.checkpoint(thread, row.head).new
    result = changed(tables, thread, row.head, changes, head.agent_version)
    checkpoint = NewCheckpoint(
        id=uuid7(),
        number=row.number + 1,
        step=row.step,
        branch=row.branch,
        branch_start=row.branch_start,
        parent=row.head,
        parent_thread=thread,
        parent_number=row.number,
        source="edit",
        nodes=(),
        next_nodes=row.next_nodes,
        schema_version=head.schema_version,
        agent_version=head.agent_version,
        created_by=actor,
        **result,
    )
    new_event = NewEvent(K.STATE_EDITED, {"changed": sorted(changes), "reason": reason}, actor)
    waits = row.status in (S.WAITING, S.SLEEPING)
    status, why = S.PAUSED if waits else row.status, row.status_reason
    sets = {"waiting_on": None}
    tables.move(
        thread, sets=sets, status=status, reason=why, before=[new_event], checkpoint=checkpoint
    )
    return checkpoint.id


def changed(
    tables: MemoryTables,
    thread: UUID,
    ident: UUID,
    changes: Mapping[str, Any],
    version: UUID,
) -> dict[str, Any]:
    """Delta, hash and size of a state with values of a person in it, for a checkpoint."""
    delta = deltas.delta_of_changes(dict(changes))
    state = deltas.apply(tables.materialise(thread, ident).state, delta)
    digests = Digests.of(state, tables.reducers[version])
    return {"delta": delta, "state_hash": digests.root, "state_bytes": digests.size}


def roll_back(
    tables: MemoryTables,
    thread: UUID,
    *,
    checkpoint: UUID,
    undo: Sequence[UUID],
    reason: str,
    actor: str,
    run_on: bool = False,
) -> None:
    """Every status but rolling_back -> rolling_back; a worker then undoes and moves the head."""
    row, goal = tables.row(thread), tables.checkpoint(thread, checkpoint).new
    if checkpoint == row.head:
        raise NotAllowedNow("The thread is already at this checkpoint.")
    if not reading.on_way(tables, thread, checkpoint):
        raise NotAllowedNow(
            "An earlier rollback left this checkpoint behind; fork from it to continue there."
        )
    _in(row, set(sources(K.ROLLBACK_STARTED)), "Rolling back")
    message = f"The thread was rolled back: {reason}"
    requests.withdraw_open(tables, thread, reason=message, actor=actor)
    plan = plans.plan(
        target=checkpoint,
        number=goal.number,
        step=goal.step,
        undo=undo,
        reason=reason,
        run_on=run_on,
        by=actor,
    )
    away = taken_away(tables, thread, actor=actor, how="rolled back")
    events = [*away.events, NewEvent(K.ROLLBACK_STARTED, plan | away.data, actor)]
    tables.move(
        thread,
        sets=carried(plan),
        status=S.ROLLING_BACK,
        reason=reason,
        events=events,
        also=away.mark,
    )


def send(tables: MemoryTables, thread: UUID, *, message: Any, actor: str) -> int:
    """Keep a message for the thread's next step; the number of its event."""
    row = tables.row(thread)
    _in(row, TAKES_INPUT, "Taking new input")
    event = NewEvent(K.INPUT_RECEIVED, {"message": message}, actor)
    tables.move(thread, sets={"wake_seq": row.wake_seq + 1}, events=[event])
    tables.inputs.setdefault(thread, []).append(row.last_seq)
    return row.last_seq


def wake_sleepers(tables: MemoryTables) -> int:
    """sleeping -> queued for each thread whose time has come; how many."""
    now, woken = tables.now(), 0
    for row in list(tables.rows.values()):
        if row.status is S.SLEEPING and row.wake_at is not None and row.wake_at <= now:
            event = NewEvent(K.THREAD_WOKEN, {"by": "timer"}, "sweep")
            tables.move(row.id, sets={"wake_at": None}, status=S.QUEUED, events=[event])
            woken += 1
    return woken


def _in(row: Row, statuses: Any, wanted: str) -> None:
    if row.status not in statuses:
        raise NotAllowedNow(
            f"{wanted} is not possible while the thread is {row.status}.", status=row.status
        )
