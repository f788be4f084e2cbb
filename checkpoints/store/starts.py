"""How a thread begins: started with an input, or forked from any checkpoint of another."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from functools import partial
from typing import Any
from uuid import UUID

from django.db import OperationalError, connection, transaction
from uuid_utils.compat import uuid7

from ..errors import AlreadyStarted, NotAllowedNow, NotFound
from ..log import control_columns, fork_budgets
from ..postgres import reads as prepared
from ..postgres.named_rows import fetch_named
from ..queries.installation.model_configurations import DEPLOYED_MODEL
from ..queries.states import saved_digests
from ..state import deltas
from ..state.channels import Digests, reducers_of
from ..state.encrypted import readers_of
from ..state.model_configuration import deployed, joined_config
from ..state.searchable import check_values, column_of, searchable_of
from ..states import EventKind, Status
from ..tables.columns import CHECKPOINT, THREAD
from .encrypted.keys import cipher_of_fork, ciphers_of_births
from .encrypted.values import sealed
from .keyframes import keep_far_state, known_digests
from .statement.announcements import announce
from .statement.checkpoint_rows import checkpoint_insert
from .statement.guards import CLOSED, check_texts
from .statement.moves import NO_HASH, NewCheckpoint, NewEvent, encode_event, first_checkpoint
from .statement.searchable import check as check_searchable
from .statement.searchable import column_at
from .statement.text import birth


def insert_thread(
    *,
    thread: UUID,
    checkpoint: NewCheckpoint,
    kind: EventKind,
    data: Mapping[str, Any],
    row: Mapping[str, Any],
) -> bool:
    """Insert a thread with its first checkpoint and event; False when its name is taken.

    `data` is what the event says beside its checkpoint. `row` has a value for each column that is
    not as in `ROW_DEFAULTS`. One statement in a transaction of its own, unless the caller has begun
    one.
    """
    inserts, committed = checkpoint_insert(thread, checkpoint)
    values: dict[str, Any] = {
        "id": thread,
        "chain_id": uuid7(),
        "head": checkpoint.id,
        "number": checkpoint.number,
        "step": checkpoint.step,
        "branch": checkpoint.branch,
        "branch_start": checkpoint.branch_start,
        "next_nodes": deltas.canonical(list(checkpoint.next_nodes)).decode(),
        "state_bytes": checkpoint.state_bytes,
        **row,
    }
    event = NewEvent(kind, {**data, "checkpoint": committed.data}, checkpoint.created_by)
    raw, salt, digest = encode_event(event)
    text, names = birth(tuple(values), _AS_SQL, (1,), tuple([row.into for row in inserts]))
    params = [*values.values()]
    for insert in inserts:
        params += insert.params
    params += (str(event.kind), event.actor, raw, salt, digest)
    # Here: the store is also imported where there is no driver (a ledger in memory).
    from ..postgres.statements import send

    try:
        born = send(text, dict(zip(names, params, strict=True)))
    except OperationalError as error:
        # Of a trigger: the erasure was approved after the base was read.
        if "is being erased" in str(error):
            raise NotAllowedNow(CLOSED) from error
        raise
    if born is None:
        return False
    workspace, last_seq, status, queue = born
    queue = queue if status == Status.QUEUED else ""
    announce(thread, workspace, last_seq, queue=queue, more_follows=bool(queue))
    return True


ROW_DEFAULTS: dict[str, str] = {
    "last_hash": rf"\x{NO_HASH.hex()}",
    "status": str(Status.QUEUED),
    "status_reason": "",
    "wake_seq": "0",
    "wish": "",
    "wish_by": "",
    "pause_at": "",
    "effects": "run",
    "version": "1",
    "lease_owner": "",
    "fence": "0",
    "crash_count": "0",
    "n_steps": "0",
    "tokens": "0",
    "cost": "0",
    "tokens_saved": "0",
    "labels": "{}",
}
# Not as parameters: a birth sends some forty values as it is, and each costs both sides.
_AS_SQL = tuple((name, f"'{value}'::{THREAD[name].type}") for name, value in ROW_DEFAULTS.items())


def _agent_version(agent_version: UUID, workspace: UUID | None = None) -> Any:
    result = fetch_named(
        "SELECT v.agent, coalesce(n.queue, v.queue) AS queue, v.schema_version, v.channels::text, "
        f"v.graph::text, ({DEPLOYED_MODEL}) AS model FROM gp_agent_version v "
        "LEFT JOIN gp_agent_announcement n ON n.agent_version_id = v.id WHERE v.id = %s::uuid",
        (workspace, agent_version),
    )
    if not result:
        raise NotFound("There is no such agent version.")
    return result[0]


def start(
    agent_version_id: UUID,
    *,
    input: Mapping[str, Any],
    workspace: UUID,
    actor: str,
    name: str | None = None,
    title: str = "",
    automatic_title: str = "",
    labels: Mapping[str, str] | None = None,
    pause_at: str = "",
    effects: str = "run",
    parent: UUID | None = None,
    config: Mapping[str, Any] | None = None,
    traceparent: str = "",
) -> UUID:
    """Begin a thread: (nothing) -> queued, with the input as its first checkpoint.

    Without a title that somebody gave it has the automatic one, or its agent's name; its agent may
    replace either.
    Channels that the input leaves out get the defaults of the agent version. `config` (model,
    temperature, prompt texts) holds for the whole thread; what it leaves out is as deployed now,
    and stays so. `traceparent` is the caller's trace context, for spans. Returns the id.
    Raises AlreadyStarted (with thread=) when the workspace has a thread of this agent and name.
    """
    is_automatic, title = not title, title or automatic_title
    check_texts(title=title, name=name, pause_at=pause_at)
    version = _agent_version(agent_version_id, workspace)
    channels, graph = deltas.decode(version.channels), deltas.decode(version.graph)
    state = {c: spec["default"] for c, spec in channels.items() if "default" in spec} | dict(input)
    deltas.check(state)
    names = searchable_of(channels)
    check_values(names, state)
    thread = uuid7()
    encrypted = bool(readers_of(channels))
    # One transaction: a start that is refused leaves no key behind.
    with transaction.atomic() if encrypted else nullcontext():
        if encrypted:
            ciphers = ciphers_of_births([thread], workspace=workspace)
            state = sealed(channels, state, lambda: ciphers[thread])
        digests = Digests.of(state, reducers_of(channels))
        checkpoint = first_checkpoint(
            source="input",
            next_nodes=tuple(graph["entry"]),
            delta={"set": state},
            state_hash=digests.root,
            state_bytes=digests.size,
            schema_version=version.schema_version,
            agent_version=agent_version_id,
            created_by=actor,
            config=joined_config(deployed(graph, version.model), config or {}) or None,
            digests=digests,
        )
        born = insert_thread(
            thread=thread,
            checkpoint=checkpoint,
            kind=EventKind.THREAD_STARTED,
            data={
                "agent": version.agent,
                "agent_version": str(agent_version_id),
                "title": title,
                "row": control_columns.event_of(
                    name=name,
                    queue=version.queue,
                    labels=labels,
                    pause_at=pause_at,
                    effects=effects,
                    parent=parent,
                    automatic_title=is_automatic,
                ),
                **({"traceparent": traceparent} if traceparent else {}),
            },
            row={
                "workspace_id": workspace,
                "agent_version_id": agent_version_id,
                "agent": version.agent,
                "queue": version.queue,
                "name": name,
                "title": title or version.agent,
                "automatic_title": (title or version.agent) if is_automatic else "",
                "labels": deltas.canonical(dict(labels or {})).decode(),
                "pause_at": pause_at,
                "effects": effects,
                "started_by": actor,
                "parent": parent,
                "searchable": column_of(names, state),
            },
        )
        if not born:
            with connection.cursor() as cursor:
                cursor.execute(
                    "SELECT id FROM gp_thread WHERE workspace_id = %s::uuid "
                    "AND agent = %s::varchar AND name = %s::varchar",
                    (workspace, version.agent, name),
                )
                raise AlreadyStarted(thread=cursor.fetchone()[0])
    return thread


_OF_BASE = THREAD.only(
    *("workspace_id", "agent", "queue", "title", "chain_id", "last_seq", "last_hash", "labels"),
    "erasure",
)
_OF_POINT = CHECKPOINT.only(
    *("number", "step", "next_nodes", "schema_version", "agent_version_id", "state_hash"),
    "state_bytes",
)
_BASE = (
    f"SELECT {_OF_BASE.select('th')}, {_OF_POINT.select('c')}, "
    "th.base IS NOT NULL OR c.branch_start > 0, (SELECT f.config::text FROM gp_checkpoint f "
    "WHERE f.thread_id = th.id AND f.number = 0), v.channels::text FROM gp_thread th "
    "JOIN gp_checkpoint c ON c.thread_id = th.id AND c.id = %s::uuid "
    "JOIN gp_agent_version v ON v.id = c.agent_version_id WHERE th.id = %s::uuid"
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
    budget: Mapping[str, Any] | None = None,
    exchanged: Mapping[str, Any] | None = None,
) -> UUID:
    """Begin a new thread from any checkpoint of another; writes nothing to the base.

    Three rows whatever the length of the past: thread, checkpoint, event. The first event binds
    the base's chain, sequence number and hash, so the shared past is proved by the fork as well.
    `effects="ask"` opens a gate before the fork's first effect that has none. `config` names what
    differs from the base's; the fork's first checkpoint keeps the whole of what then holds.
    `code` is the agent version that goes on with it, else that of the checkpoint. At its `budget`
    (`fork_budgets.checked`) the fork pauses. `exchanged` names the call for whose output it has
    another one.
    """
    check_texts(title=title)
    limits = fork_budgets.checked(budget) if budget else {}
    requests = [
        (_BASE, (checkpoint, base)),
        *([saved_digests.digests_query(base, checkpoint)] if changes else []),
    ]
    result, *rows = prepared.fetch_all(*requests)
    if not result:
        raise NotFound("There is no such checkpoint in this thread.")
    *values, is_far, base_config, channels = result[0]
    old, point = _OF_BASE.row(values[: len(_OF_BASE)]), _OF_POINT.row(values[len(_OF_BASE) :])
    if old["erasure"] is not None:
        raise NotAllowedNow(CLOSED)
    version, queue = point["agent_version_id"], old["queue"]
    if code is not None:
        version, queue = code, _agent_version(code).queue
    check_searchable(version, changes)
    title = title or f"{old['title']} (fork)"[:300]
    thread = uuid7()
    delta = deltas.delta_of_changes(
        sealed(
            deltas.decode(channels),
            changes,
            lambda: cipher_of_fork(thread, base, workspace=old["workspace_id"]),
        )
    )
    # Without changes the state is the base's: its hash is known, and nothing has to be read.
    state_hash, state_bytes = point["state_hash"], point["state_bytes"]
    digests = None
    if changes:
        digests = known_digests(base, checkpoint, *rows)
        digests.follow(delta)
        state_hash, state_bytes = digests.root, digests.size
    searchable = column_at(base, checkpoint, version=version, delta=delta)
    whole_config = joined_config(deltas.decode(base_config) if base_config else {}, config or {})
    first = first_checkpoint(
        step=point["step"],
        parent=checkpoint,
        parent_thread=base,
        parent_number=point["number"],
        source="fork",
        next_nodes=tuple(deltas.decode(point["next_nodes"])),
        delta=delta,
        state_hash=state_hash,
        state_bytes=state_bytes,
        schema_version=point["schema_version"],
        agent_version=point["agent_version_id"],
        created_by=actor,
        config=whole_config or None,
        digests=digests,
    )
    insert_thread(
        thread=thread,
        checkpoint=first,
        kind=EventKind.THREAD_FORKED,
        data={
            "base": str(base),
            "base_chain": str(old["chain_id"]),
            "base_seq": old["last_seq"],
            "base_hash": old["last_hash"].hex(),
            "base_checkpoint": str(checkpoint),
            "base_number": point["number"],
            "changed": sorted(changes),
            "reason": reason,
            "row": control_columns.event_of(
                queue=queue,
                labels=deltas.decode(old["labels"]),
                effects=effects,
                title=title,
            ),
            **({"config": dict(config)} if config else {}),
            **({"agent_version": str(code)} if code else {}),
            **({"budget": limits} if limits else {}),
            **({"exchanged": dict(exchanged)} if exchanged else {}),
        },
        row={
            "workspace_id": old["workspace_id"],
            "agent_version_id": version,
            "agent": old["agent"],
            "queue": queue,
            "title": title,
            "labels": old["labels"],
            "effects": effects,
            "started_by": actor,
            "base": base,
            "forked_from": checkpoint,
            "searchable": searchable,
        },
    )
    if is_far:
        # Afterwards and apart: the fork is there whether or not its cache can be written.
        transaction.on_commit(partial(keep_far_state, thread, first.id, 0), robust=True)
    return thread
