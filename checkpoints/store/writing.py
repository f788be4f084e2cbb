"""How every change of a thread is written: one statement that guards, moves, logs and chains.

`Move` collects what a change does and `perform` sends it as ONE SQL statement:

    WITH t AS (UPDATE gp_thread ... WHERE id = ... AND <guard> RETURNING ...),
         i0 AS (INSERT INTO gp_checkpoint ... SELECT ... FROM t), ...
    INSERT INTO gp_event ... SELECT ... FROM t; the row of t comes back

No row back means that the guard did not hold: nothing was written. The statement reads no other
table, since a sub-select would see the world from before the lock. Inside the UPDATE the clock is
read in a correlated sub-select, so that after waiting for the lock it is read again and events of
a thread never carry decreasing times.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any
from uuid import UUID

from django.db import connection, transaction

from .. import deltas
from ..errors import InvalidValue
from ..signals import thread_changed, thread_queued
from ..states import EventKind, Status

SALT_BYTES = 16
NO_HASH = bytes(32)
EVENT_MAX_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True)
class NewEvent:
    """An entry to append to a thread's log; `data` is JSON of at most 256 KiB."""

    kind: EventKind
    data: Mapping[str, Any]
    actor: str
    v: int = 1


@dataclass(frozen=True, slots=True)
class NewCheckpoint:
    """A checkpoint about to be committed; ids and hashes are chosen by the writer beforehand."""

    id: UUID
    number: int
    step: int
    branch: int
    branch_start: int
    parent: UUID | None
    parent_thread: UUID | None
    parent_number: int | None
    source: str
    nodes: Sequence[str]
    next_nodes: Sequence[str]
    delta: Mapping[str, Any]
    state_hash: bytes
    state_bytes: int
    schema_version: int
    agent_version: UUID
    created_by: str
    config: Mapping[str, Any] | None = None


@dataclass(slots=True)
class Insert:
    """One row to insert beside the thread's UPDATE: {column: (SQL, parameters)}."""

    table: str
    columns: dict[str, tuple[str, tuple[Any, ...]]]
    conflict: str = ""


@dataclass(slots=True)
class Move:
    """One change of one thread: guard, assignments, events and rows, performed together."""

    thread: UUID
    guard: str = "TRUE"
    guard_params: tuple[Any, ...] = ()
    sets: dict[str, tuple[str, tuple[Any, ...]]] = field(default_factory=dict)
    events: list[NewEvent] = field(default_factory=list)
    inserts: list[Insert] = field(default_factory=list)
    updates: list[tuple[str, tuple[Any, ...]]] = field(default_factory=list)
    returning: tuple[str, ...] = ()
    unflushed: bool = False

    def set(self, column: str, value: Any, cast: str) -> None:
        """Assign a value; `cast` names the SQL type, since parameters are bound by the server."""
        self.sets[column] = (f"%s::{cast}", (value,))

    def express(self, column: str, sql: str, *params: Any) -> None:
        """Assign an SQL expression; the row's old values are th.<column>."""
        self.sets[column] = (sql, params)

    def to_status(self, status: Status, *, reason: str = "") -> None:
        """Move to `status`; the database refuses what states.TRANSITIONS does not allow."""
        self.set("status", str(status), "varchar")
        self.set("status_reason", reason, "text")
        self.express(
            "status_since",
            "CASE WHEN th.status = %s::varchar THEN th.status_since ELSE clock_timestamp() END",
            str(status),
        )
        self.express("version", "th.version + 1")


def salted(data: bytes) -> tuple[bytes, bytes]:
    """(salt, sha256(salt | data)); content and salt can be erased together, the proof stays."""
    salt = os.urandom(SALT_BYTES)
    return salt, hashlib.sha256(salt + data).digest()


def encode_event(event: NewEvent) -> tuple[str, bytes, bytes]:
    """(JSON text, salt, hash) of an event's data; InvalidValue beyond the size limit."""
    raw = deltas.canonical(dict(event.data))
    if len(raw) > EVENT_MAX_BYTES:
        raise InvalidValue("$", f"an event of {len(raw)} bytes exceeds {EVENT_MAX_BYTES}")
    salt, digest = salted(raw)
    return raw.decode(), salt, digest


@lru_cache(maxsize=64)
def _linked(versions: tuple[int, ...]) -> str:
    """A sub-select of the UPDATE: (time, the hash before each event, the hash after the last).

    One level per event: side by side the planner would try their orders, 3 s for 20. OFFSET 0
    keeps it from merging the levels, which would work out a hash again wherever it is used.
    """
    text = "SELECT clock_timestamp() AS at, ''::bytea AS before, th.last_hash AS h"
    for i, v in enumerate(versions, 1):
        text = (
            f"SELECT x.at, x.before || x.h AS before, gp_link(th.chain_id, th.last_seq + {i}, "
            f"%(k{i})s::text, {v}, %(a{i})s::text, x.at, %(d{i})s::bytea, x.h) AS h "
            f"FROM ({text} OFFSET 0) x"
        )
    return text


@lru_cache(maxsize=64)
def _event_insert(versions: tuple[int, ...]) -> str:
    """The INSERT of chained events, given t as the UPDATE returned it."""
    n = len(versions)
    rows = " UNION ALL ".join(
        f"SELECT t.id, t.workspace_id, t.last_at, t.last_seq - {n - i}, %(k{i})s::text, {v}, "
        f"%(a{i})s::text, %(j{i})s::jsonb, %(s{i})s::bytea, %(d{i})s::bytea, "
        f"substr(t.prev_hash, {32 * i - 31}, 32), "
        + ("t.last_hash" if i == n else f"substr(t.prev_hash, {32 * i + 1}, 32)")
        + " FROM t"
        for i, v in enumerate(versions, 1)
    )
    return (
        "e AS (INSERT INTO gp_event (thread_id, workspace_id, at, seq, kind, v, actor, data, "
        f"salt, data_hash, prev_hash, hash) {rows})"
    )


# psycopg keeps the translation of a statement only up to 4,096 bytes and 50 parameters, and
# translating anew costs more than the round trip: parameters are therefore named, so that an event
# and its hash share theirs, and a checkpoint takes over what the UPDATE has set.
@lru_cache(maxsize=512)
def _statement(
    sets: tuple[tuple[str, str], ...],
    guard: str,
    versions: tuple[int, ...],
    inserts: tuple[tuple[str, tuple[tuple[str, str], ...], str], ...],
    updates: tuple[str, ...],
    returning: tuple[str, ...],
    unflushed: bool,
) -> tuple[str, tuple[str, ...]]:
    """(the text for a move of this shape, the names of its parameters in order)."""
    n = len(versions)
    assigned = [f"{column} = {sql}" for column, sql in sets]
    if n:
        assigned.append(f"(last_at, prev_hash, last_hash) = ({_linked(versions)})")
        assigned.append(f"last_seq = th.last_seq + {n}")
    head, source, clause = "WITH ", "", ""
    if unflushed:
        # Saves one flush. After a crash of the server this move may be undone with all that
        # followed it; only leases may be written so, and each carries a random token.
        head += "s AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true) AS v), "
        source, clause = " FROM s", " AND s.v = 'off'"
    parts = [
        f"i{i} AS (INSERT INTO {table} ({', '.join(c for c, _ in columns)}) "
        f"SELECT {', '.join(sql for _, sql in columns)} FROM t {conflict})"
        for i, (table, columns, conflict) in enumerate(inserts)
    ]
    parts += [f"u{i} AS ({update})" for i, update in enumerate(updates)]
    if n:
        parts.append(_event_insert(versions))
    # Only what is used further on: the row is wide, and each column of t costs.
    used = dict.fromkeys(_COLUMN_OF_T.findall(" ".join(parts)))
    used |= dict.fromkeys(column.partition("::")[0] for column in returning)
    moved = (
        f"{head}t AS (UPDATE gp_thread AS th SET {', '.join(assigned)}{source} WHERE th.id = "
        f"%s::uuid AND ({guard}){clause} RETURNING {', '.join(f'th.{c}' for c in used)})"
    )
    text = ", ".join([moved, *parts]) + f" SELECT {', '.join(returning)} FROM t"
    pieces = text.split("%s")
    names = tuple(f"q{i}" for i in range(len(pieces) - 1))
    named = [f"%({name})s{piece}" for name, piece in zip(names, pieces[1:], strict=True)]
    of_events = tuple(f"{letter}{i}" for i in range(1, n + 1) for letter in "kajsd")
    return pieces[0] + "".join(named), names + of_events


_COLUMN_OF_T = re.compile(r"\bt\.([a-z_]+)")
_ALWAYS = ("workspace_id", "last_seq", "status", "queue")


def perform(move: Move) -> tuple[Any, ...] | None:
    """Send `move` as one statement; the RETURNING row, or None when the guard did not hold.

    The row begins with (workspace_id, last_seq, status, queue), then `move.returning`.
    """
    statement, names = _statement(
        tuple([(column, sql) for column, (sql, _) in move.sets.items()]),
        move.guard,
        tuple([event.v for event in move.events]),
        tuple(
            [
                (i.table, tuple([(c, sql) for c, (sql, _) in i.columns.items()]), i.conflict)
                for i in move.inserts
            ]
        ),
        tuple([sql for sql, _ in move.updates]),
        _ALWAYS + move.returning,
        move.unflushed,
    )
    params: list[Any] = []
    for _, given in move.sets.values():
        params += given
    params.append(move.thread)
    params += move.guard_params
    for insert in move.inserts:
        for _, given in insert.columns.values():
            params += given
    for _, given in move.updates:
        params += given
    for event in move.events:
        raw, salt, digest = encode_event(event)
        params += (str(event.kind), event.actor, raw, salt, digest)
    with connection.cursor() as cursor:
        cursor.execute(statement, dict(zip(names, params, strict=True)))
        row: tuple[Any, ...] | None = cursor.fetchone()
    if row is not None:
        # A rollback without a lease needs a worker as much as a queued thread does.
        given_back = move.sets.get("lease_token") == ("NULL", ())
        idle = row[2] == Status.QUEUED or (row[2] == Status.ROLLING_BACK and given_back)
        announce(move.thread, row[0], row[1], queue=row[3] if idle else "")
    return row


def announce(thread: UUID, workspace: UUID, seq: int, *, queue: str = "") -> None:
    """Tell the floors above after commit; `queue` when a worker should look."""
    transaction.on_commit(
        partial(
            thread_changed.send_robust,
            sender=None,
            thread_id=thread,
            workspace=workspace,
            seq=seq,
        )
    )
    if queue:
        transaction.on_commit(
            partial(thread_queued.send_robust, sender=None, thread_id=thread, queue=queue)
        )


def checkpoint_insert(checkpoint: NewCheckpoint) -> tuple[Insert, NewEvent]:
    """The row of a checkpoint and the event that names it; InvalidValue for too large a state."""
    deltas.check_size(checkpoint.state_bytes, deltas.LIMITS.state_bytes, "the state")
    raw = deltas.canonical(dict(checkpoint.delta))
    salt, delta_hash = salted(raw)
    c = checkpoint
    values: dict[str, tuple[str, tuple[Any, ...]]] = {
        "thread_id": ("t.id", ()),
        "workspace_id": ("t.workspace_id", ()),
        "created_at": ("t.last_at", ()),
        "id": ("t.head", ()),
        "number": ("t.number", ()),
        "step": ("t.step", ()),
        "branch": ("t.branch", ()),
        "branch_start": ("t.branch_start", ()),
        "parent": ("%s::uuid", (c.parent,)),
        "parent_thread": ("%s::uuid", (c.parent_thread,)),
        "parent_number": ("%s::integer", (c.parent_number,)),
        "source": ("%s::varchar", (c.source,)),
        "nodes": ("%s::jsonb", (_names(c.nodes),)),
        "next_nodes": ("t.next_nodes", ()),
        "delta": ("%s::jsonb", (raw.decode(),)),
        "salt": ("%s::bytea", (salt,)),
        "delta_hash": ("%s::bytea", (delta_hash,)),
        "state_hash": ("%s::bytea", (c.state_hash,)),
        "state_bytes": ("t.state_bytes", ()),
        "schema_version": ("%s::integer", (c.schema_version,)),
        "agent_version_id": ("%s::uuid", (c.agent_version,)),
        "config": (
            "%s::jsonb",
            (None if c.config is None else deltas.canonical(dict(c.config)).decode(),),
        ),
        "created_by": ("%s::varchar", (c.created_by,)),
    }
    event = NewEvent(
        EventKind.CHECKPOINT_COMMITTED,
        {
            "checkpoint": str(c.id),
            "number": c.number,
            "step": c.step,
            "branch": c.branch,
            "parent": None if c.parent is None else str(c.parent),
            "source": c.source,
            "nodes": list(c.nodes),
            "next": list(c.next_nodes),
            "delta_hash": delta_hash.hex(),
            "state_hash": c.state_hash.hex(),
        },
        c.created_by,
    )
    return Insert("gp_checkpoint", values), event


def head_sets(move: Move, checkpoint: NewCheckpoint) -> None:
    """Make `checkpoint` the head of the thread that `move` changes."""
    c = checkpoint
    move.set("head", c.id, "uuid")
    move.set("number", c.number, "integer")
    move.set("step", c.step, "integer")
    move.set("branch", c.branch, "integer")
    move.set("branch_start", c.branch_start, "integer")
    move.set("next_nodes", _names(c.next_nodes), "jsonb")
    move.set("state_bytes", c.state_bytes, "bigint")
    move.express("version", "th.version + 1")


def _names(names: Sequence[str]) -> str:
    return _names_text(tuple(names))


@lru_cache(maxsize=1024)
def _names_text(names: tuple[str, ...]) -> str:
    return deltas.canonical(list(names)).decode()
