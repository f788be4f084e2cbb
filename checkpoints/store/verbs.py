"""What people and other threads do to a thread: start, control, edit, fork, wake.

Every verb has one shape: guarded UPDATE, look at the row count, event in the same transaction,
signal on commit. A refusal is explained from the row as it is now.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.db import connection, transaction
from uuid_utils.compat import uuid7

from .. import deltas, history
from ..channels import Digests, reducers_of
from ..errors import AlreadyStarted, InvalidValue, NotAllowedNow, NotFound, StaleVersion
from ..states import EDITABLE, EventKind, Status, sources, target
from .steps import release
from .writing import (
    NO_HASH,
    Move,
    NewCheckpoint,
    NewEvent,
    checkpoint_insert,
    head_sets,
    perform,
)


def _in(statuses: tuple[Status, ...] | frozenset[Status]) -> str:
    return "th.status IN (" + ", ".join(f"'{s}'" for s in sorted(statuses)) + ")"


def _versioned(move: Move, expected_version: int | None) -> Move:
    if expected_version is not None:
        move.guard = f"({move.guard}) AND th.version = %s::bigint"
        move.guard_params = (*move.guard_params, expected_version)
    return move


def refuse(thread: UUID, *, expected_version: int | None, wanted: str) -> None:
    """Raise what explains best why a guarded write of `thread` found no row."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT status, version FROM gp_thread WHERE id = %s::uuid", (thread,))
        row = cursor.fetchone()
    if row is None:
        raise NotFound("There is no such thread.")
    if expected_version is not None and row[1] != expected_version:
        raise StaleVersion(version=row[1], status=row[0])
    raise NotAllowedNow(f"{wanted} is not possible while the thread is {row[0]}.", status=row[0])


def _insert_thread(values: Mapping[str, tuple[str, Any]]) -> bool:
    columns = ", ".join(values)
    sql = ", ".join(cast if "%s" in cast else f"%s::{cast}" for cast, _ in values.values())
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO gp_thread ({columns}) VALUES ({sql}) ON CONFLICT DO NOTHING",
            [v for _, v in values.values()],
        )
        return bool(cursor.rowcount)


def _birth(
    *,
    thread: UUID,
    checkpoint: NewCheckpoint,
    first: NewEvent,
    row: Mapping[str, tuple[str, Any]],
) -> bool:
    """Insert a thread with its first checkpoint and events; False when its name is taken."""
    insert, committed = checkpoint_insert(checkpoint)
    chain = uuid7()
    values: dict[str, tuple[str, Any]] = {
        "id": ("uuid", thread),
        "chain_id": ("uuid", chain),
        "last_hash": ("bytea", NO_HASH),
        "prev_hash": ("bytea", NO_HASH),
        "head": ("uuid", checkpoint.id),
        "number": ("integer", checkpoint.number),
        "step": ("integer", checkpoint.step),
        "branch": ("integer", checkpoint.branch),
        "branch_start": ("integer", checkpoint.branch_start),
        "next_nodes": ("jsonb", deltas.canonical(list(checkpoint.next_nodes)).decode()),
        "state_bytes": ("bigint", checkpoint.state_bytes),
        **_DEFAULTS,
        **row,
    }
    with transaction.atomic():
        if not _insert_thread(values):
            return False
        data = dict(first.data)
        # The event proves the first checkpoint; a separate one would only repeat it.
        data["checkpoint"] = committed.data
        move = Move(thread, events=[NewEvent(first.kind, data, first.actor)], inserts=[insert])
        perform(move)
    return True


_DEFAULTS: dict[str, tuple[str, Any]] = {
    "status": ("varchar", str(Status.QUEUED)),
    "status_reason": ("text", ""),
    "wake_seq": ("bigint", 0),
    "wish": ("varchar", ""),
    "wish_by": ("varchar", ""),
    "pause_at": ("varchar", ""),
    "effects": ("varchar", "run"),
    "version": ("bigint", 1),
    "last_seq": ("bigint", 0),
    "lease_owner": ("varchar", ""),
    "fence": ("bigint", 0),
    "crash_count": ("smallint", 0),
    "n_steps": ("bigint", 0),
    "tokens": ("bigint", 0),
    "cost": ("numeric", 0),
    "tokens_saved": ("bigint", 0),
    "labels": ("jsonb", "{}"),
}


def _check_texts(**texts: str | None) -> None:
    """Refuse with its name a text that its column does not take."""
    for name, text in texts.items():
        deltas.check(text, name)
        if text is not None and len(text) > _LONGEST[name]:
            raise InvalidValue(name, f"is longer than {_LONGEST[name]} characters")


_LONGEST = {"title": 300, "name": 255, "pause_at": 100, "before_node": 100}


def _agent_version(agent_version: UUID) -> dict[str, Any]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT agent, queue, schema_version, channels::text, graph::text "
            "FROM gp_agent_version WHERE id = %s::uuid",
            (agent_version,),
        )
        row = cursor.fetchone()
    if row is None:
        raise NotFound("There is no such agent version.")
    return {
        "agent": row[0],
        "queue": row[1],
        "schema_version": row[2],
        "channels": deltas.decode(row[3]),
        "graph": deltas.decode(row[4]),
    }


def start(
    agent_version_id: UUID,
    *,
    input: Mapping[str, Any],
    workspace: UUID,
    actor: str,
    name: str | None = None,
    title: str = "",
    labels: Mapping[str, str] | None = None,
    pause_at: str = "",
    effects: str = "run",
    parent: UUID | None = None,
) -> UUID:
    """Begin a thread: (nothing) -> queued, with the input as its first checkpoint.

    Channels that the input leaves out get the defaults of the agent version. Returns the id.
    Raises AlreadyStarted (with thread=) when the workspace has a thread of this agent and name.
    """
    _check_texts(title=title, name=name, pause_at=pause_at)
    version = _agent_version(agent_version_id)
    state = {
        channel: spec["default"]
        for channel, spec in version["channels"].items()
        if "default" in spec
    } | dict(input)
    deltas.check(state)
    thread = uuid7()
    digests = Digests.of(state, reducers_of(version["channels"]))
    checkpoint = NewCheckpoint(
        id=uuid7(),
        number=0,
        step=0,
        branch=0,
        branch_start=0,
        parent=None,
        parent_thread=None,
        parent_number=None,
        source="input",
        nodes=(),
        next_nodes=tuple(version["graph"]["entry"]),
        delta={"set": state},
        state_hash=digests.root,
        state_bytes=digests.size,
        schema_version=version["schema_version"],
        agent_version=agent_version_id,
        created_by=actor,
    )
    first = NewEvent(
        EventKind.THREAD_STARTED,
        {"agent": version["agent"], "agent_version": str(agent_version_id), "title": title},
        actor,
    )
    born = _birth(
        thread=thread,
        checkpoint=checkpoint,
        first=first,
        row={
            "workspace_id": ("uuid", workspace),
            "agent_version_id": ("uuid", agent_version_id),
            "agent": ("varchar", version["agent"]),
            "queue": ("varchar", version["queue"]),
            "name": ("varchar", name),
            "title": ("varchar", title or version["agent"]),
            "labels": ("jsonb", deltas.canonical(dict(labels or {})).decode()),
            "pause_at": ("varchar", pause_at),
            "effects": ("varchar", effects),
            "started_by": ("varchar", actor),
            "parent": ("uuid", parent),
        },
    )
    if not born:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT id FROM gp_thread WHERE workspace_id = %s::uuid AND agent = %s::varchar "
                "AND name = %s::varchar",
                (workspace, version["agent"], name),
            )
            raise AlreadyStarted(thread=cursor.fetchone()[0])
    return thread


def fork(
    base: UUID,
    *,
    checkpoint: UUID,
    changes: Mapping[str, Any],
    actor: str,
    title: str = "",
    effects: str = "ask",
    reason: str = "",
) -> UUID:
    """Begin a new thread from any checkpoint of another; writes nothing to the base.

    Three rows whatever the length of the past: thread, checkpoint, event. The first event binds
    the base's chain, sequence number and hash, so the shared past is proved by the fork as well.
    `effects="ask"` opens a gate before the fork's first effect that has none.
    """
    _check_texts(title=title)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT th.workspace_id, th.agent, th.queue, th.title, th.chain_id, th.last_seq, "
            "th.last_hash, th.labels::text, c.number, c.step, c.next_nodes::text, "
            "c.schema_version, c.agent_version_id FROM gp_thread th "
            "JOIN gp_checkpoint c ON c.thread_id = th.id AND c.id = %s::uuid "
            "WHERE th.id = %s::uuid",
            (checkpoint, base),
        )
        row = cursor.fetchone()
    if row is None:
        raise NotFound("There is no such checkpoint in this thread.")
    found = history.materialise(base, checkpoint)
    reducers = history.reducers_of(row[12])
    delta = deltas.delta_of_changes(dict(changes))
    state = deltas.apply(found.state, delta)
    deltas.check(state)
    digests = Digests.of(state, reducers)
    thread = uuid7()
    first_checkpoint = NewCheckpoint(
        id=uuid7(),
        number=0,
        step=row[9],
        branch=0,
        branch_start=0,
        parent=checkpoint,
        parent_thread=base,
        parent_number=row[8],
        source="fork",
        nodes=(),
        next_nodes=tuple(deltas.decode(row[10])),
        delta=delta,
        state_hash=digests.root,
        state_bytes=digests.size,
        schema_version=row[11],
        agent_version=row[12],
        created_by=actor,
    )
    first = NewEvent(
        EventKind.THREAD_FORKED,
        {
            "base": str(base),
            "base_checkpoint": str(checkpoint),
            "base_number": row[8],
            "base_chain": str(row[4]),
            "base_seq": row[5],
            "base_hash": bytes(row[6]).hex(),
            "changed": sorted(changes),
            "reason": reason,
        },
        actor,
    )
    _birth(
        thread=thread,
        checkpoint=first_checkpoint,
        first=first,
        row={
            "workspace_id": ("uuid", row[0]),
            "agent_version_id": ("uuid", row[12]),
            "agent": ("varchar", row[1]),
            "queue": ("varchar", row[2]),
            "title": ("varchar", title or f"{row[3]} (fork)"[:300]),
            "labels": ("jsonb", row[7]),
            "effects": ("varchar", effects),
            "started_by": ("varchar", actor),
            "base": ("uuid", base),
            "forked_from": ("uuid", checkpoint),
        },
    )
    return thread


def pause(
    thread: UUID, *, actor: str, before_node: str = "", expected_version: int | None = None
) -> str:
    """Stop a thread: at once where nobody works on it, else at the next step ("requested").

    With `before_node` it goes on and stops before that node. Returns "paused" or "requested".
    """
    if before_node:
        _check_texts(before_node=before_node)
        ahead = _versioned(
            Move(thread, _in((Status.QUEUED, Status.RUNNING, Status.WAITING, Status.SLEEPING))),
            expected_version,
        )
        ahead.set("pause_at", before_node, "varchar")
        ahead.events = [NewEvent(EventKind.PAUSE_REQUESTED, {"before": before_node}, actor)]
        if perform(ahead) is None:
            refuse(thread, expected_version=expected_version, wanted="Pausing before a node")
        return "requested"
    for _ in range(3):  # The thread may change hands between the two looks.
        idle = Move(thread, _in((Status.QUEUED, Status.WAITING, Status.SLEEPING)))
        _versioned(idle, expected_version)
        idle.to_status(Status.PAUSED, reason="Paused by a person")
        idle.events = [NewEvent(EventKind.THREAD_PAUSED, {}, actor)]
        if perform(idle) is not None:
            return "paused"
        busy = Move(thread, "th.status = 'running' AND th.wish = ''")
        _versioned(busy, expected_version)
        busy.set("wish", "pause", "varchar")
        busy.set("wish_by", actor, "varchar")
        busy.events = [NewEvent(EventKind.PAUSE_REQUESTED, {}, actor)]
        if perform(busy) is not None:
            return "requested"
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT status, wish, version FROM gp_thread WHERE id = %s::uuid", (thread,)
            )
            row = cursor.fetchone()
        if row is not None and expected_version not in (None, row[2]):
            break
        if row is not None and (row[1] == "pause" or row[0] == Status.PAUSED):
            return "requested" if row[1] else "paused"
    refuse(thread, expected_version=expected_version, wanted="Pausing")
    raise AssertionError("unreachable")


def _move_on(
    thread: UUID,
    by: EventKind,
    *,
    actor: str,
    expected_version: int | None,
    wanted: str,
    data: Mapping[str, Any] | None = None,
    free: bool = False,
) -> None:
    froms = sources(by)
    move = _versioned(Move(thread, _in(froms)), expected_version)
    move.to_status(target(by, froms[0]))
    # Retrying a thread that stopped because its code changed is how a person accepts the new code.
    move.express(
        "wish",
        "CASE WHEN th.status = 'attention' AND th.waiting_on ->> 'kind' = 'code' "
        "THEN 'accept' ELSE '' END",
    )
    move.express("waiting_on", "NULL")
    move.express("wake_at", "NULL")
    if free:
        release(move)
    else:
        move.express("crash_count", "0")
    move.events = [NewEvent(by, dict(data or {}), actor)]
    if perform(move) is None:
        refuse(thread, expected_version=expected_version, wanted=wanted)


def resume(thread: UUID, *, actor: str, expected_version: int | None = None) -> None:
    """paused -> queued."""
    _move_on(
        thread,
        EventKind.THREAD_RESUMED,
        actor=actor,
        expected_version=expected_version,
        wanted="Resuming",
    )


def retry(thread: UUID, *, actor: str, expected_version: int | None = None) -> None:
    """failed or attention -> queued, from the head."""
    _move_on(
        thread,
        EventKind.THREAD_RETRIED,
        actor=actor,
        expected_version=expected_version,
        wanted="Retrying",
    )


def cancel(
    thread: UUID, *, actor: str, reason: str = "", expected_version: int | None = None
) -> None:
    """Any status but a finished one -> cancelled; takes the thread away from its worker."""
    _move_on(
        thread,
        EventKind.THREAD_CANCELLED,
        actor=actor,
        expected_version=expected_version,
        wanted="Cancelling",
        data={"reason": reason},
        free=True,
    )


def edit(
    thread: UUID,
    *,
    changes: Mapping[str, Any],
    reason: str,
    actor: str,
    expected_version: int | None = None,
) -> UUID:
    """Write a checkpoint by a person over the head; a waiting or sleeping thread pauses.

    Values are validated by the caller against the agent's JSON Schema. Returns the checkpoint.
    Raises StaleVersion when the thread moved since `expected_version` or since it was read here.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT head, number, step, branch, branch_start, next_nodes::text, "
            "agent_version_id, status FROM gp_thread WHERE id = %s::uuid",
            (thread,),
        )
        row = cursor.fetchone()
        if row is None:
            raise NotFound("There is no such thread.")
        cursor.execute(
            "SELECT schema_version FROM gp_checkpoint WHERE thread_id = %s::uuid AND id = %s::uuid",
            (thread, row[0]),
        )
        schema_version = cursor.fetchone()[0]
    found = history.materialise(thread, row[0])
    delta = deltas.delta_of_changes(dict(changes))
    state = deltas.apply(found.state, delta)
    deltas.check(state)
    digests = Digests.of(state, history.reducers_of(row[6]))
    checkpoint = NewCheckpoint(
        id=uuid7(),
        number=row[1] + 1,
        step=row[2],
        branch=row[3],
        branch_start=row[4],
        parent=row[0],
        parent_thread=thread,
        parent_number=row[1],
        source="edit",
        nodes=(),
        next_nodes=tuple(deltas.decode(row[5])),
        delta=delta,
        state_hash=digests.root,
        state_bytes=digests.size,
        schema_version=schema_version,
        agent_version=row[6],
        created_by=actor,
    )
    insert, committed = checkpoint_insert(checkpoint)
    move = _versioned(
        Move(thread, f"{_in(EDITABLE)} AND th.head = %s::uuid", (row[0],)), expected_version
    )
    head_sets(move, checkpoint)
    move.express(
        "status",
        "CASE WHEN th.status IN ('waiting', 'sleeping') THEN 'paused' ELSE th.status END::varchar",
    )
    move.express(
        "status_since",
        "CASE WHEN th.status IN ('waiting', 'sleeping') THEN clock_timestamp() "
        "ELSE th.status_since END",
    )
    move.express("waiting_on", "NULL")
    move.events = [
        NewEvent(EventKind.STATE_EDITED, {"changed": sorted(changes), "reason": reason}, actor),
        committed,
    ]
    move.inserts = [insert]
    if perform(move) is None:
        if Status(row[7]) in EDITABLE and expected_version is None:
            raise StaleVersion
        refuse(thread, expected_version=expected_version, wanted="Editing the state")
    return checkpoint.id


def add_event(thread: UUID, event: NewEvent, *, guard: str = "TRUE") -> bool:
    """Append one event without changing the thread; False when `guard` did not hold."""
    return perform(Move(thread, guard, events=[event])) is not None


def wake(thread: UUID, *, event: NewEvent, queue: bool = True) -> bool:
    """Raise wake_seq with an event and queue the thread if it waits; False: no such thread.

    A worker that holds the thread sees the raised number with its next commit and goes round
    once more instead of falling asleep over the news.
    """
    move = Move(thread)
    move.express("wake_seq", "th.wake_seq + 1")
    move.express("version", "th.version + 1")
    if queue:
        for column, sql in {
            "status": "CASE WHEN th.status IN ('waiting', 'sleeping') THEN 'queued' "
            "ELSE th.status END::varchar",
            "status_since": "CASE WHEN th.status IN ('waiting', 'sleeping') "
            "THEN clock_timestamp() ELSE th.status_since END",
            "waiting_on": "CASE WHEN th.status IN ('waiting', 'sleeping') THEN NULL "
            "ELSE th.waiting_on END",
        }.items():
            move.express(column, sql)
    move.events = [event]
    return perform(move) is not None
