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

import os
from collections import namedtuple
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from hashlib import sha256
from typing import Any, NamedTuple
from uuid import UUID

from django.db import DEFAULT_DB_ALIAS, connections, transaction
from uuid_utils.compat import uuid7

from checkpoints.errors import InvalidValue
from checkpoints.postgres import reads as prepared
from checkpoints.records import SALT_BYTES, Work
from checkpoints.state import deltas
from checkpoints.state.digests import Digests
from checkpoints.states import FINISHED, EventKind, Status, WorkspaceEventKind
from checkpoints.tables.columns import THREAD
from checkpoints.views import CheckpointRow

from .announcements import announce, announce_end
from .text import ALWAYS, EVENTS_AT_ONCE, RowSql, batched, row_sql, statement

NO_HASH = bytes(32)
EVENT_MAX_BYTES = 256 * 1024
_PLACEHOLDERS = THREAD.placeholders


@dataclass(slots=True)  # not frozen: each step makes two, which would take six times as long
class NewEvent:
    """An entry to append to a thread's log or a workspace's; `data` is JSON of at most 256 KiB."""

    kind: EventKind | WorkspaceEventKind
    data: Mapping[str, Any]
    actor: str
    v: int = 1


class NewCheckpoint(NamedTuple):
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
    # Those of its state, if the writer has them: some checkpoints save them (`Digests.to_bytes`).
    digests: Digests | None = None


def first_checkpoint(**other: Any) -> NewCheckpoint:
    """The checkpoint that a thread begins with; `other` says what it is, and where a fork's is."""
    values: dict[str, Any] = {
        "id": uuid7(),
        "number": 0,
        "step": 0,
        "branch": 0,
        "branch_start": 0,
        "parent": None,
        "parent_thread": None,
        "parent_number": None,
        "nodes": (),
    }
    return NewCheckpoint(**values | other)


def next_checkpoint(
    work: Work,
    *,
    source: str,
    delta: Mapping[str, Any],
    state_hash: bytes,
    state_bytes: int,
    schema_version: int,
    **other: Any,
) -> NewCheckpoint:
    """The checkpoint after the head of a leased thread in its branch; `other` are changed fields.

    By default step and next nodes stay those of the head: no node was run.
    """
    values: dict[str, Any] = {
        "id": uuid7(),
        "number": work.number + 1,
        "step": work.step,
        "branch": work.branch,
        "branch_start": work.branch_start,
        "parent": work.head,
        "parent_thread": work.thread,
        "parent_number": work.number,
        "nodes": (),
        "next_nodes": work.next_nodes,
        "agent_version": work.agent_version,
        "created_by": work.owner,
    }
    return NewCheckpoint(
        source=source,
        delta=delta,
        state_hash=state_hash,
        state_bytes=state_bytes,
        schema_version=schema_version,
        **values | other,
    )


def rollback_checkpoint(work: Work, target: CheckpointRow, **other: Any) -> NewCheckpoint:
    """The checkpoint that sets the head back to `target`; `other` are changed fields.

    It has the target's own state once more, by whatever code that was written, on a new branch.
    """
    values: dict[str, Any] = {
        "agent_version": target.agent_version_id,
        "step": target.step,
        "branch": work.branch + 1,
        "branch_start": work.number + 1,
        "parent": target.id,
        "parent_number": target.number,
        "next_nodes": target.next_nodes,
    }
    return next_checkpoint(
        work,
        source="rollback",
        delta={},
        state_hash=bytes.fromhex(target.state_hash),
        state_bytes=target.state_bytes,
        schema_version=target.schema_version,
        **values | other,
    )


@dataclass(slots=True)
class Insert:
    """One row to insert beside the thread's UPDATE; `params` as `into.values` makes them."""

    into: RowSql
    params: Any


@dataclass(slots=True)
class Move:
    """One change of one thread: guard, assignments, events and rows, performed together.

    `head` has the values of a new head, see `head_sets`.
    """

    thread: UUID
    guard: str = "TRUE"
    guard_params: tuple[Any, ...] = ()
    head: Sequence[Any] = ()
    sets: dict[str, tuple[str, tuple[Any, ...]]] = field(default_factory=dict)
    events: list[NewEvent] = field(default_factory=list)
    inserts: list[Insert] = field(default_factory=list)
    updates: list[tuple[str, tuple[Any, ...]]] = field(default_factory=list)
    returning: tuple[str, ...] = ()
    unflushed: bool = False
    # Whether it continues with a move of which events are written already: they have one time.
    continues: bool = False
    # Whether it ends the thread: its parent hears of that.
    ends: bool = False
    # What is asked in the same round trip once it is done, and the answers.
    along: Sequence[prepared.Query] = ()
    brought: list[list[tuple[Any, ...]]] = field(default_factory=list)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the row to return beside ALWAYS."""
        return (*self.returning, "parent") if self.ends else self.returning

    def set(self, column: str, value: Any) -> None:
        """Assign a value, as the type of its column: parameters are bound by the server."""
        self.sets[column] = (_PLACEHOLDERS[column], (value,))

    def express(self, column: str, sql: str, *params: Any) -> None:
        """Assign an SQL expression; the row's old values are th.<column>."""
        self.sets[column] = (sql, params)

    def to_status(self, status: Status, *, reason: str = "") -> None:
        """Move to `status`; the database refuses what states.TRANSITIONS does not allow."""
        self.ends = status in FINISHED
        self.set("status", str(status))
        self.set("status_reason", reason)
        self.express(
            "status_since",
            "CASE WHEN th.status = %s::varchar THEN th.status_since ELSE clock_timestamp() END",
            str(status),
        )
        self.express("version", "th.version + 1")


def salted(data: bytes) -> tuple[bytes, bytes]:
    """(salt, sha256(salt | data)); content and salt can be erased together, the proof stays."""
    salt = os.urandom(SALT_BYTES)
    return salt, sha256(salt + data).digest()


def encode_event(event: NewEvent) -> tuple[str, bytes, bytes]:
    """(JSON text, salt, hash) of an event's data; InvalidValue beyond the size limit."""
    raw = deltas.canonical(dict(event.data))
    if len(raw) > EVENT_MAX_BYTES:
        raise InvalidValue("$", f"an event of {len(raw)} bytes exceeds {EVENT_MAX_BYTES}")
    salt, digest = salted(raw)
    return raw.decode(), salt, digest


def shaped(move: Move) -> tuple[str, dict[str, Any]]:
    """The statement that performs `move`, and the values of its %(named)s parameters."""
    take_title(move, move.events)
    text, names = statement(
        _HEAD if move.head else None,
        tuple([(column, sql) for column, (sql, _) in move.sets.items()]),
        move.guard,
        tuple([event.v for event in move.events]),
        tuple([row.into for row in move.inserts]),
        tuple([sql for sql, _ in move.updates]),
        move.columns,
        move.unflushed,
        move.continues,
    )
    params: list[Any] = [*move.head]
    for _, value in move.sets.values():
        params += value
    params.append(move.thread)
    params += move.guard_params
    for row in move.inserts:
        params += row.params
    for _, value in move.updates:
        params += value
    for event in move.events:
        raw, salt, digest = encode_event(event)
        params += (str(event.kind), event.actor, raw, salt, digest)
    return text, dict(zip(names, params, strict=True))


def take_title(move: Move, events: Sequence[NewEvent]) -> None:
    """Let the title that the last of these events suggests replace an automatic one."""
    if titles := [e.data["title"] for e in events if e.kind is EventKind.TITLE_SUGGESTED]:
        # Decided under the row's lock: somebody may rename the thread while the node works. Two
        # titles and no flag: former code knows only the first, and renames threads as well.
        for column in ("title", "automatic_title"):
            taken = "CASE WHEN th.automatic_title = th.title THEN %s::varchar"
            move.express(column, f"{taken} ELSE th.{column} END", titles[-1])


@lru_cache(maxsize=64)
def returned(columns: tuple[str, ...]) -> Any:
    """Make a row out of the values of ALWAYS and then of these columns, by their names."""
    make: Any = namedtuple
    return make("row", [column.partition("::")[0] for column in ALWAYS + columns])._make


def perform(move: Move) -> Any:
    """Send `move` as one statement; the RETURNING row, or None when the guard did not hold.

    The row has the columns of ALWAYS and `move.columns`. A move of more than EVENTS_AT_ONCE
    events becomes several statements of one transaction.
    """
    # Here: who only imports the store needs no driver.
    from checkpoints.postgres.statements import send, send_and_fetch

    database = connections[DEFAULT_DB_ALIAS]
    if len(move.events) > EVENTS_AT_ONCE:
        return _perform_in_parts(move)
    text, values = shaped(move)
    if move.along:
        values_back, move.brought = send_and_fetch(text, values, *move.along)
    else:
        values_back = send(text, values, database)
    if values_back is None:
        return None
    moved = returned(move.columns)(values_back)
    # A rollback without a lease needs a worker as much as a queued thread does.
    given_back = move.sets.get("lease_token") == ("NULL", ())
    # Until an undo that failed is due again there is nothing for a worker.
    given_back = given_back and move.sets.get("wake_at", ("NULL",))[0] == "NULL"
    idle = moved.status == Status.QUEUED or (moved.status == Status.ROLLING_BACK and given_back)
    queue = moved.queue if idle else ""
    announce(
        move.thread,
        moved.workspace_id,
        moved.last_seq,
        queue=queue,
        more_follows=move.unflushed or bool(queue),
        database=database,
    )
    if move.ends and moved.parent is not None:
        announce_end(move.thread, moved.parent)
    return moved


def _perform_in_parts(move: Move) -> Any:
    """Append the first events by statements of their own, then perform the rest of the move.

    All of it is one transaction under one lock of the row, so the guard of the first statement
    holds for the others as well.
    """
    from checkpoints.postgres.statements import send

    *parts, rest = batched(move.events)
    with transaction.atomic():
        for i, events in enumerate(parts):
            part = Move(move.thread, move.guard, move.guard_params, events=events, continues=i > 0)
            text, values = shaped(part)
            if send(text, values) is None:
                return None
        last = replace(move, events=rest, continues=True)
        row = perform(last)
        move.brought = last.brought
        transaction.set_rollback(row is None)
        return row


_HEAD = row_sql(
    THREAD.only("head", "number", "step", "branch", "branch_start", "next_nodes", "state_bytes"),
    {},
)
# The columns in which a new checkpoint's row and the thread's say the same.
OF_HEAD = {"id": "head"} | {name: name for name in _HEAD.sql if name != "head"}


@lru_cache(maxsize=256)
def names_json(nodes: tuple[str, ...]) -> str:
    """The canonical JSON of names of nodes; a graph has few, and each step writes some twice."""
    return deltas.canonical(list(nodes)).decode()


def head_sets(move: Move, checkpoint: NewCheckpoint) -> None:
    """Make `checkpoint` the head of the thread that `move` changes."""
    c = checkpoint
    move.head = _HEAD.values(
        head=c.id,
        number=c.number,
        step=c.step,
        branch=c.branch,
        branch_start=c.branch_start,
        next_nodes=names_json(tuple(c.next_nodes)),
        state_bytes=c.state_bytes,
    )
    move.express("version", "th.version + 1")
