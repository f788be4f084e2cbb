"""How a thread begins: started with an input, or forked from any checkpoint of another."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any
from uuid import UUID

from django.db import connection, transaction
from uuid_utils.compat import uuid7

from ..errors import AlreadyStarted, NotFound
from ..log import steering
from ..postgres import reads as prepared
from ..queries.states import saved_digests
from ..state import deltas
from ..state.channels import Digests, reducers_of
from ..states import EventKind, Status
from .keyframes import keep_far_state, known_digests
from .statement.announcements import announce
from .statement.canonical_texts import forked_text, names_text, started_text
from .statement.checkpoint_rows import checkpoint_insert
from .statement.guards import check_texts
from .statement.moves import NO_HASH, NewCheckpoint, encode, written
from .statement.text import birth


def _birth(
    *,
    thread: UUID,
    checkpoint: NewCheckpoint,
    kind: EventKind,
    told: Callable[[bytes], bytes],
    row: Mapping[str, tuple[str, Any]],
) -> bool:
    """Insert a thread with its first checkpoint and event; False when its name is taken.

    `told` writes the event's data around what a separate event would say of the checkpoint. `row`
    has a cast and a value for each column that is not as in `_DEFAULTS`. One statement in a
    transaction of its own, unless the caller has begun one.
    """
    inserts, committed = checkpoint_insert(thread, checkpoint)
    values: dict[str, tuple[str, Any]] = {
        "id": ("uuid", thread),
        "chain_id": ("uuid", uuid7()),
        "head": ("uuid", checkpoint.id),
        "number": ("integer", checkpoint.number),
        "step": ("integer", checkpoint.step),
        "branch": ("integer", checkpoint.branch),
        "branch_start": ("integer", checkpoint.branch_start),
        "next_nodes": ("jsonb", names_text(checkpoint.next_nodes)),
        "state_bytes": ("bigint", checkpoint.state_bytes),
        **row,
    }
    raw, salt, digest = encode(told(written(committed)))
    text, names = birth(
        tuple([(column, cast) for column, (cast, _) in values.items()]),
        _AS_SQL,
        (1,),
        tuple([row.into for row in inserts]),
    )
    params = [value for _, value in values.values()]
    for insert in inserts:
        params += insert.params
    params += (str(kind), checkpoint.created_by, raw, salt, digest)
    # Here: the store is also imported where there is no driver (a ledger in memory).
    from ..postgres.statements import send

    born = send(text, dict(zip(names, params, strict=True)))
    if born is None:
        return False
    queue = born[3] if born[2] == Status.QUEUED else ""
    announce(thread, born[0], born[1], queue=queue, soon=bool(queue))
    return True


_DEFAULTS: dict[str, tuple[str, str]] = {
    "last_hash": ("bytea", rf"\x{NO_HASH.hex()}"),
    "status": ("varchar", str(Status.QUEUED)),
    "status_reason": ("text", ""),
    "wake_seq": ("bigint", "0"),
    "wish": ("varchar", ""),
    "wish_by": ("varchar", ""),
    "pause_at": ("varchar", ""),
    "effects": ("varchar", "run"),
    "version": ("bigint", "1"),
    "lease_owner": ("varchar", ""),
    "fence": ("bigint", "0"),
    "crash_count": ("smallint", "0"),
    "n_steps": ("bigint", "0"),
    "tokens": ("bigint", "0"),
    "cost": ("numeric", "0"),
    "tokens_saved": ("bigint", "0"),
    "labels": ("jsonb", "{}"),
}
# Not as parameters: a birth sends some forty values as it is, and each costs both sides.
_AS_SQL = tuple((column, f"'{value}'::{cast}") for column, (cast, value) in _DEFAULTS.items())


def _agent_version(agent_version: UUID) -> dict[str, Any]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT v.agent, coalesce(n.queue, v.queue), v.schema_version, v.channels::text, "
            "v.graph::text FROM gp_agent_version v LEFT JOIN gp_agent_announcement n "
            "ON n.agent_version_id = v.id WHERE v.id = %s::uuid",
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


def joined_config(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """A configuration with other members; null takes one away."""
    return {name: value for name, value in {**base, **changes}.items() if value is not None}


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
    config: Mapping[str, Any] | None = None,
) -> UUID:
    """Begin a thread: (nothing) -> queued, with the input as its first checkpoint.

    Channels that the input leaves out get the defaults of the agent version. `config` (model,
    temperature, prompt texts) holds for the whole thread. Returns the id.
    Raises AlreadyStarted (with thread=) when the workspace has a thread of this agent and name.
    """
    check_texts(title=title, name=name, pause_at=pause_at)
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
        config=joined_config({}, config or {}) or None,
        digests=digests,
    )
    born = _birth(
        thread=thread,
        checkpoint=checkpoint,
        kind=EventKind.THREAD_STARTED,
        told=lambda committed: started_text(
            agent=version["agent"],
            agent_version=agent_version_id,
            title=title,
            committed=committed,
            row=steering.told(
                name=name,
                queue=version["queue"],
                labels=labels,
                pause_at=pause_at,
                effects=effects,
                parent=parent,
            ),
        ),
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


_BASE = (
    "SELECT th.workspace_id, th.agent, th.queue, th.title, th.chain_id::text, th.last_seq, "
    "th.last_hash, th.labels::text, c.number, c.step, c.next_nodes::text, "
    "c.schema_version, c.agent_version_id, c.state_hash, c.state_bytes, "
    "th.base IS NOT NULL OR c.branch_start > 0, (SELECT f.config::text FROM gp_checkpoint f "
    "WHERE f.thread_id = th.id AND f.number = 0) FROM gp_thread th "
    "JOIN gp_checkpoint c ON c.thread_id = th.id AND c.id = %s::uuid WHERE th.id = %s::uuid"
)


def fork(
    base: UUID,
    *,
    checkpoint: UUID,
    changes: Mapping[str, Any],
    actor: str,
    title: str = "",
    effects: str = "ask",
    reason: str = "",
    config: Mapping[str, Any] | None = None,
    code: UUID | None = None,
) -> UUID:
    """Begin a new thread from any checkpoint of another; writes nothing to the base.

    Three rows whatever the length of the past: thread, checkpoint, event. The first event binds
    the base's chain, sequence number and hash, so the shared past is proved by the fork as well.
    `effects="ask"` opens a gate before the fork's first effect that has none. `config` names what
    differs from the base's; the fork's first checkpoint keeps the whole of what then holds.
    `code` is the agent version that goes on with it, else that of the checkpoint.
    """
    check_texts(title=title)
    asked = [
        (_BASE, (checkpoint, base)),
        *([saved_digests.asked(base, checkpoint)] if changes else []),
    ]
    found, *rows = prepared.fetch_all(*asked)
    if not found:
        raise NotFound("There is no such checkpoint in this thread.")
    (row,) = found
    version, queue = row[12], row[2]
    if code is not None:
        version, queue = code, _agent_version(code)["queue"]
    delta = deltas.delta_of_changes(dict(changes))
    # Without changes the state is the base's: its hash is known, and nothing has to be read.
    state_hash, state_bytes = bytes(row[13]), row[14]
    digests = None
    if changes:
        digests = known_digests(base, checkpoint, *rows)
        digests.follow(delta)
        state_hash, state_bytes = digests.root, digests.size
    thread = uuid7()
    whole_config = joined_config(deltas.decode(row[16]) if row[16] else {}, config or {})
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
        state_hash=state_hash,
        state_bytes=state_bytes,
        schema_version=row[11],
        agent_version=row[12],
        created_by=actor,
        config=whole_config or None,
        digests=digests,
    )
    _birth(
        thread=thread,
        checkpoint=first_checkpoint,
        kind=EventKind.THREAD_FORKED,
        told=lambda committed: forked_text(
            base=base,
            chain=row[4],
            seq=row[5],
            last_hash=bytes(row[6]),
            checkpoint=checkpoint,
            number=row[8],
            changed=sorted(changes),
            committed=committed,
            config=config,
            code=code,
            reason=reason,
            row=steering.told(
                queue=queue,
                labels=deltas.decode(row[7]),
                effects=effects,
                title=title or f"{row[3]} (fork)"[:300],
            ),
        ),
        row={
            "workspace_id": ("uuid", row[0]),
            "agent_version_id": ("uuid", version),
            "agent": ("varchar", row[1]),
            "queue": ("varchar", queue),
            "title": ("varchar", title or f"{row[3]} (fork)"[:300]),
            "labels": ("jsonb", row[7]),
            "effects": ("varchar", effects),
            "started_by": ("varchar", actor),
            "base": ("uuid", base),
            "forked_from": ("uuid", checkpoint),
        },
    )
    if row[15]:
        # Afterwards and apart: the fork is there whether or not its cache can be written.
        transaction.on_commit(partial(keep_far_state, thread, first_checkpoint.id, 0), robust=True)
    return thread
