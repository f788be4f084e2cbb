"""Start children in the very statement that records in their parent's log that they were started.

So there is no child that its parent does not know, none twice, and none by a worker that has lost
its lease. A start locks no row that anybody else can wait for: one statement moves the parent and
inserts its children, however many.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import NAMESPACE_URL, UUID, uuid5

from uuid_utils.compat import uuid7

from checkpoints.errors import LeaseLost
from checkpoints.log import control_columns
from checkpoints.postgres.sql_files import sql_file
from checkpoints.queries.installation.model_configurations import first_config
from checkpoints.records import NewActivity, Work
from checkpoints.state import deltas
from checkpoints.state.channels import Digests, reducers_of
from checkpoints.state.encrypted import readers_of
from checkpoints.state.searchable import check_values, column_of, searchable_of
from checkpoints.states import EventKind
from checkpoints.views import AgentRow

from ..activities import recorded
from ..encrypted.keys import ciphers_of_new_threads
from ..encrypted.values import sealed
from ..statement.announcements import announce
from ..statement.checkpoint_rows import checkpoint_insert
from ..statement.guards import check_texts
from ..statement.moves import (
    NO_HASH,
    Insert,
    Move,
    NewCheckpoint,
    NewEvent,
    encode_event,
    first_checkpoint,
    perform,
)
from ..steps import SEEN, leased, update_work

SQL = sql_file(__file__)
# Children that one statement starts at most.
AT_ONCE = 100
HELD, RELEASED = "held", "released"


@dataclass(frozen=True, slots=True)
class NewChild:
    """A thread to be started by another; `hold` is held or released where there is a limit."""

    id: UUID
    input: Mapping[str, Any]
    title: str
    ordinal: int = 0
    hold: str = ""


def derived_id(what: str, key: str, ordinal: int = 0) -> UUID:
    """An id that follows from the idempotency key of the activity that makes it."""
    return uuid5(NAMESPACE_URL, f"gatepost-{what}-1|{key}|{ordinal}")


def spawn(
    work: Work,
    activity: NewActivity,
    agent: AgentRow,
    children: Sequence[NewChild],
    *,
    fan_out: UUID,
    at_most: int = 0,
    events: Sequence[NewEvent] = (),
) -> None:
    """Record an activity that starts children, with their rows: one statement for all of them.

    `fan_out` names those that share the limit `at_most`: a child that is held waits until
    one of them ends. Workspace, effects mode and initiator are the parent's. Raises LeaseLost:
    none was started.
    """
    result = {"children": [str(child.id) for child in children]}
    row, event = recorded(work.owner, activity, result=result)
    config = first_config(agent, workspace=work.workspace) or None
    states = _first_states(work, agent, children)
    rows = [
        _row(work, agent, child, state, config, fan_out, at_most)
        for child, state in zip(children, states, strict=True)
    ]
    started = {
        "activity": str(activity.id),
        "agent": agent.agent,
        "agent_version": str(agent.id),
        "children": [{"thread": r["id"], "chain": r["chain_id"]} for r in rows],
    }
    move = leased(work)
    move.inserts = [row]
    move.events = [*events, NewEvent(EventKind.CHILD_STARTED, started, work.owner), event]
    move.returning = SEEN
    if work.crash_count:
        move.express("crash_count", "0")
    insert_threads(move, rows)
    seen = perform(move)
    if seen is None:
        raise LeaseLost(thread=work.thread)
    work.crash_count = 0
    update_work(work, seen)
    announce_threads(work.workspace, rows)


def _first_states(
    work: Work, agent: AgentRow, children: Sequence[NewChild]
) -> list[dict[str, Any]]:
    """The states that children begin with, as they are stored."""
    defaults = {c: spec["default"] for c, spec in agent.channels.items() if "default" in spec}
    states = [defaults | dict(child.input) for child in children]
    names = searchable_of(agent.channels)
    for state in states:
        deltas.check(state)
        check_values(names, state)
    if not readers_of(agent.channels):
        return states
    # Their ids follow from the activity, so a start that is repeated finds the same keys.
    ids = [child.id for child in children]
    ciphers = ciphers_of_new_threads(ids, workspace=work.workspace)
    return [
        sealed(agent.channels, state, partial(ciphers.__getitem__, ident))
        for ident, state in zip(ids, states, strict=True)
    ]


def _row(
    work: Work,
    agent: AgentRow,
    child: NewChild,
    state: Mapping[str, Any],
    config: Mapping[str, Any] | None,
    fan_out: UUID,
    at_most: int,
) -> dict[str, Any]:
    """A child as `new_threads.sql` takes it."""
    check_texts(title=child.title)
    digests = Digests.of(state, reducers_of(agent.channels))
    checkpoint = first_checkpoint(
        source="input",
        next_nodes=tuple(agent.graph["entry"]),
        delta={"set": state},
        state_hash=digests.root,
        state_bytes=digests.size,
        schema_version=agent.schema_version,
        agent_version=agent.id,
        created_by=work.started_by,
        config=config,
        digests=digests,
    )
    waiting_on = None
    if child.hold == HELD:
        waiting_on = {
            "kind": "limit",
            "at_most": at_most,
            "sentence": f"Waiting for a sibling to end: {at_most} work at a time",
        }
    return new_thread_row(
        child.id,
        agent,
        checkpoint,
        kind=EventKind.THREAD_STARTED,
        data={"started_in": {"thread": str(work.thread), "chain": str(work.chain_id)}},
        title=child.title,
        automatic_title=not child.title,
        effects=work.effects,
        waiting_on=waiting_on,
        parent=work.thread,
        root=work.root or work.thread,
        depth=work.depth + 1,
        fan_out=str(fan_out),
        ordinal=child.ordinal,
        hold=child.hold,
        searchable=column_of(searchable_of(agent.channels), state),
    )


def new_thread_row(
    thread: UUID,
    agent: AgentRow,
    checkpoint: NewCheckpoint,
    *,
    kind: EventKind,
    data: Mapping[str, Any],
    title: str,
    effects: str,
    parent: UUID | None,
    root: UUID | None,
    depth: int,
    automatic_title: bool = False,
    waiting_on: Mapping[str, Any] | None = None,
    **more: Any,
) -> dict[str, Any]:
    """A thread with its first checkpoint and event as `new_threads.sql` takes them.

    1. Make the rows of the checkpoint and of its contents.
    2. Make the event that starts the thread; it names the checkpoint.
    3. Join the columns of thread, checkpoint and event into one row.
    """
    inserts, committed = checkpoint_insert(thread, checkpoint)
    payload = {
        "agent": agent.agent,
        "agent_version": str(agent.id),
        "title": title,
        "row": control_columns.event_of(
            queue=agent.queue,
            effects=effects,
            parent=parent,
            root=root,
            depth=depth,
            automatic_title=automatic_title,
        ),
        **data,
        "checkpoint": committed.data,
    }
    if waiting_on is not None:
        payload["waiting_on"] = control_columns.waiting_hash(waiting_on)
    return {
        "id": str(thread),
        "chain_id": str(uuid7()),
        "agent_version_id": str(agent.id),
        "agent": agent.agent,
        "queue": agent.queue,
        "title": title or agent.agent,
        "automatic_title": (title or agent.agent) if automatic_title else "",
        "labels": "{}",
        "effects": effects,
        "waiting_on": None if waiting_on is None else deltas.canonical(waiting_on).decode(),
        "started_by": checkpoint.created_by,
        "parent": _text(parent),
        "root": _text(root),
        "depth": depth,
        **_checkpoint_columns(checkpoint, inserts[0]),
        **_event_columns(NewEvent(kind, payload, checkpoint.created_by)),
        "contents": _contents(inserts[1:]),
        **more,
    }


def _checkpoint_columns(checkpoint: NewCheckpoint, insert: Insert) -> dict[str, Any]:
    """The first checkpoint of a thread as `new_threads.sql` takes it; `insert` makes its row."""
    point = insert.params._asdict()
    return {
        "checkpoint": str(checkpoint.id),
        "step": checkpoint.step,
        "point_parent": _text(checkpoint.parent),
        "parent_thread": _text(checkpoint.parent_thread),
        "parent_number": checkpoint.parent_number,
        "source": checkpoint.source,
        "next_nodes": deltas.canonical(list(checkpoint.next_nodes)).decode(),
        "delta": point["delta"],
        "delta_salt": _hex(point["salt"]),
        "delta_hash": _hex(point["delta_hash"]),
        "state_hash": _hex(checkpoint.state_hash),
        "state_bytes": checkpoint.state_bytes,
        "schema_version": checkpoint.schema_version,
        "point_version": str(checkpoint.agent_version),
        "config": point["config"],
        "digests": _hex(point.get("digests")),
    }


def _event_columns(event: NewEvent) -> dict[str, Any]:
    """The first event of a thread as `new_threads.sql` takes it."""
    data, salt, digest = encode_event(event)
    return {
        "kind": str(event.kind),
        "v": event.v,
        "actor": event.actor,
        "data": data,
        "salt": _hex(salt),
        "data_hash": _hex(digest),
        "no_hash": _hex(NO_HASH),
    }


def insert_threads(move: Move, rows: Sequence[Mapping[str, Any]]) -> None:
    """Let `move` insert these threads in its own statement."""
    steps = [SQL.threads, SQL.checkpoints, SQL.events, SQL.children]
    if any(row["contents"] for row in rows):
        steps.append(SQL.contents)
    # First: the other parts read its rows as u0, the name of the first update.
    inserts = [(SQL.new_threads, (json.dumps(rows),)), *((step, ()) for step in steps)]
    move.updates = [*inserts, *move.updates]


def announce_threads(workspace: UUID, rows: Sequence[Mapping[str, Any]]) -> None:
    """Announce to workers and pages the threads that were started."""
    for row in rows:
        queue = "" if row["waiting_on"] else row["queue"]
        announce(UUID(row["id"]), workspace, 1, queue=queue, more_follows=bool(queue))


def _contents(inserts: Sequence[Any]) -> dict[str, str]:
    return {
        sha: body
        for row in inserts
        for sha, body in zip(row.params.sha256, row.params.body, strict=True)
    }


def _text(value: UUID | None) -> str | None:
    return None if value is None else str(value)


def _hex(value: bytes | None) -> str | None:
    return None if value is None else rf"\x{value.hex()}"
