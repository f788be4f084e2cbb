"""Start threads: the row of a thread, its first checkpoint and its first event in one statement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import Any
from uuid import UUID

from django.db import OperationalError, connection, transaction
from uuid_utils.compat import uuid7

from ..durabilities import EPHEMERAL
from ..ephemeral import copies
from ..ephemeral.copies import Copy, Point
from ..errors import AlreadyStarted, NotAllowedNow, NotFound
from ..log import control_columns
from ..postgres.named_rows import fetch_named
from ..queries.installation.model_configurations import DEPLOYED_MODEL
from ..state import deltas
from ..state.channels import Append, Digests, reducers_of
from ..state.encrypted import readers_of
from ..state.model_configuration import deployed, joined_config
from ..state.searchable import check_values, column_of, searchable_of
from ..states import EventKind, Status
from ..tables.columns import THREAD
from .encrypted.keys import ciphers_of_new_threads
from .encrypted.values import sealed
from .statement.announcements import announce
from .statement.checkpoint_rows import checkpoint_insert
from .statement.guards import CLOSED, check_texts
from .statement.moves import (
    NO_HASH,
    Insert,
    NewCheckpoint,
    NewEvent,
    encode_event,
    first_checkpoint,
)
from .statement.text import thread_insert


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
    return insert_row(thread, values, event, inserts)


def insert_row(
    thread: UUID, row: Mapping[str, Any], event: NewEvent, inserts: Sequence[Insert] = ()
) -> bool:
    """Insert the row of a thread, its first event and rows beside them, as `insert_thread` does."""
    values = {"id": thread, "chain_id": uuid7(), **row}
    raw, salt, digest = encode_event(event)
    text, names = thread_insert(tuple(values), _AS_SQL, (1,), tuple([row.into for row in inserts]))
    params = [*values.values()]
    for insert in inserts:
        params += insert.params
    params += (str(event.kind), event.actor, raw, salt, digest)
    # Here: who only imports the store needs no driver.
    from ..postgres.statements import send

    try:
        inserted = send(text, dict(zip(names, params, strict=True)))
    except OperationalError as error:
        # Of a trigger: the erasure was approved after the base was read.
        if "is being erased" in str(error):
            raise NotAllowedNow(CLOSED) from error
        raise
    if inserted is None:
        return False
    workspace, last_seq, status, queue = inserted
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
# Not as parameters: an insert sends some forty values as it is, and each costs both sides.
_AS_SQL = tuple((name, f"'{value}'::{THREAD[name].type}") for name, value in ROW_DEFAULTS.items())


def read_agent_version(agent_version: UUID, workspace: UUID | None = None) -> Any:
    """Read what the threads of an agent version begin with: its queue, channels, graph and more.

    `model` is the one that is deployed now in the workspace. Raises NotFound.
    """
    result = fetch_named(
        "SELECT v.id, v.agent, coalesce(n.queue, v.queue) AS queue, v.schema_version, "
        f"v.channels::text, v.graph::text, ({DEPLOYED_MODEL}) AS model FROM gp_agent_version v "
        "LEFT JOIN gp_agent_announcement n ON n.agent_version_id = v.id WHERE v.id = %s::uuid",
        (workspace, agent_version),
    )
    if not result:
        raise NotFound("There is no such agent version.")
    [row] = result
    return row._replace(channels=deltas.decode(row.channels), graph=deltas.decode(row.graph))


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

    1. Read the agent version; complete the input with its defaults, and check the values.
    2. Encrypt the values of encrypted channels under a new key of the thread.
    3. Insert thread, checkpoint and event in one statement.
    4. If the name is taken, raise with the thread that has it; the key of 2 is rolled back.

    Without a title the thread has the automatic one, or its agent's name; its agent may replace
    either. Of an ephemeral agent the state goes to memory (`start_ephemeral`). `config` (model,
    temperature, prompt texts) holds for the whole thread; what it leaves out is as deployed now,
    and stays so. `traceparent` is the caller's trace context, for spans.
    Returns the id. Raises NotFound, InvalidValue, AlreadyStarted (with thread=).
    """
    check_texts(title=title or automatic_title, name=name, pause_at=pause_at)
    version = read_agent_version(agent_version_id, workspace)
    state = _first_state(version, input)
    control = {
        "name": name,
        "queue": version.queue,
        "labels": dict(labels or {}),
        "pause_at": pause_at,
        "effects": effects,
        "parent": parent,
    }
    thread = uuid7()
    if version.graph.get("durability") == EPHEMERAL:
        data, row = _started(version, control, title, "")
        data |= {"traceparent": traceparent} if traceparent else {}
        row |= {"workspace_id": workspace, "started_by": actor}
        settled = joined_config(deployed(version.graph, version.model), config or {})
        if not start_ephemeral(thread, version, state, config=settled, data=data, row=row):
            raise AlreadyStarted(thread=_thread_named(name, workspace, version.agent))
        return thread
    # One transaction where a key is made: a start that is refused leaves no key behind.
    with transaction.atomic() if readers_of(version.channels) else nullcontext():
        state = _encrypted(thread, version, state, workspace)
        first = _input_checkpoint(version, state, config or {}, actor)
        data, row = _started(version, control, title, automatic_title)
        data |= {"traceparent": traceparent} if traceparent else {}
        row |= {"workspace_id": workspace, "started_by": actor}
        row["searchable"] = column_of(searchable_of(version.channels), state)
        kind = EventKind.THREAD_STARTED
        if not insert_thread(thread=thread, checkpoint=first, kind=kind, data=data, row=row):
            raise AlreadyStarted(thread=_thread_named(name, workspace, version.agent))
    return thread


def start_ephemeral(
    thread: UUID,
    version: Any,
    state: Mapping[str, Any],
    *,
    config: Mapping[str, Any],
    data: Mapping[str, Any],
    row: Mapping[str, Any],
) -> bool:
    """Keep the state in memory, then insert thread and event; False when the name is taken.

    Such a thread has no checkpoint: its head is its own id. Raises ContentAway.
    """
    lists = [name for name, r in reducers_of(version.channels).items() if isinstance(r, Append)]
    values = {name: value for name, value in state.items() if name not in lists}
    lengths = {name: len(state[name]) for name in lists if name in state}
    point = Point(values, lengths, 0, version.graph["entry"])
    copy = Copy(point, None, 0, version.schema_version, config)
    added = {name: state[name] for name in lengths}
    copies.save(thread, copy, added=added, ttl=version.graph["ttl"])
    row = {
        "head": thread,
        "number": 0,
        "step": 0,
        "branch": 0,
        "branch_start": 0,
        "next_nodes": "[]",
        "state_bytes": 0,
        **row,
    }
    event = NewEvent(EventKind.THREAD_STARTED, {**data, "durability": EPHEMERAL}, row["started_by"])
    inserted = insert_row(thread, row, event)
    if not inserted:
        copies.forget(thread)
    return inserted


def _first_state(version: Any, input: Mapping[str, Any]) -> dict[str, Any]:
    """The input with the defaults of the channels that it leaves out, checked."""
    defaults = {c: spec["default"] for c, spec in version.channels.items() if "default" in spec}
    state = defaults | dict(input)
    deltas.check(state)
    check_values(searchable_of(version.channels), state)
    return state


def _encrypted(
    thread: UUID, version: Any, state: dict[str, Any], workspace: UUID
) -> dict[str, Any]:
    """The state as it is stored; writes a key for the thread if a channel is encrypted."""
    if not readers_of(version.channels):
        return state
    ciphers = ciphers_of_new_threads([thread], workspace=workspace)
    return sealed(version.channels, state, lambda: ciphers[thread])


def _input_checkpoint(
    version: Any, state: dict[str, Any], config: Mapping[str, Any], actor: str
) -> NewCheckpoint:
    digests = Digests.of(state, reducers_of(version.channels))
    return first_checkpoint(
        source="input",
        next_nodes=tuple(version.graph["entry"]),
        delta={"set": state},
        state_hash=digests.root,
        state_bytes=digests.size,
        schema_version=version.schema_version,
        agent_version=version.id,
        created_by=actor,
        config=joined_config(deployed(version.graph, version.model), config) or None,
        digests=digests,
    )


def _started(
    version: Any, control: dict[str, Any], title: str, automatic_title: str
) -> tuple[dict[str, Any], dict[str, Any]]:
    """(the data of `thread.started`, the columns of the thread's row) that follow from these."""
    is_automatic, title = not title, title or automatic_title
    data = {
        "agent": version.agent,
        "agent_version": str(version.id),
        "title": title,
        "row": control_columns.event_of(**control, automatic_title=is_automatic),
    }
    title = title or version.agent
    return data, control_row(control) | {
        "agent_version_id": version.id,
        "agent": version.agent,
        "title": title,
        "automatic_title": title if is_automatic else "",
    }


def control_row(control: Mapping[str, Any]) -> dict[str, Any]:
    """The columns that steer a thread, as its row takes them."""
    return {**control, "labels": deltas.canonical(control["labels"]).decode()}


def _thread_named(name: str | None, workspace: UUID, agent: str) -> UUID:
    """The thread whose name let the insert do nothing: it is committed by now."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT id FROM gp_thread WHERE workspace_id = %s::uuid "
            "AND agent = %s::varchar AND name = %s::varchar",
            (workspace, agent, name),
        )
        thread: UUID = cursor.fetchone()[0]
    return thread
