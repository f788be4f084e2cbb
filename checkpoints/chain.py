"""Proof that a thread's past was not altered: everything is computed again from the stored rows.

Found are edits, deletions, insertions and reorders of events, checkpoints and keyframes. An end
cut off together with the thread's own row is found only against an anchor kept elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any
from uuid import UUID

from django.db import connection

from . import deltas, history
from .channels import Digests
from .deltas import Folder
from .errors import GatepostError, NotFound
from .states import EventKind

# What is hashed for one event. `gp_link` in the database writes the same text; a test compares.
LINK_TEXT = "gatepost-event-1|{chain}|{seq}|{kind}|{v}|{actor}|{at}|{data_hash}|{prev_hash}"
NO_HASH = bytes(32)
# Rows per statement: an event has at most 256 KiB, a delta at most what a state may have.
EVENTS_AT_ONCE = 200
CHECKPOINTS_AT_ONCE = 50
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NAMING = frozenset(
    {EventKind.CHECKPOINT_COMMITTED, EventKind.THREAD_STARTED, EventKind.THREAD_FORKED}
)


@dataclass(frozen=True, slots=True)
class ChainReport:
    """What a verification found; `first_broken_seq` is where, `what` says it in words."""

    thread: UUID
    intact: bool
    n_events: int
    first_broken_seq: int | None
    what: str


class _Broken(Exception):
    def __init__(self, seq: int, what: str) -> None:
        super().__init__(what)
        self.seq = seq


def link(
    *,
    chain: UUID,
    seq: int,
    kind: str,
    v: int,
    actor: str,
    at: datetime,
    data_hash: bytes,
    prev_hash: bytes,
) -> bytes:
    """The hash of one event (32 bytes), with `at` as whole microseconds since 1970 in UTC."""
    text = LINK_TEXT.format(
        chain=chain,
        seq=seq,
        kind=kind,
        v=v,
        actor=actor,
        at=(at - _EPOCH) // timedelta(microseconds=1),
        data_hash=data_hash.hex(),
        prev_hash=prev_hash.hex(),
    )
    return sha256(text.encode()).digest()


def verify_thread(thread_id: UUID) -> ChainReport:
    """Verify all events and checkpoints of a thread as it stands now; raises NotFound.

    Reads in batches by keyset: memory holds one state, however long the thread is. What a worker
    adds meanwhile is left for the next time.
    """
    with connection.cursor() as cursor:
        # One statement: the row and the ends of its logs as of one moment.
        cursor.execute(
            "SELECT th.chain_id, th.last_seq, th.last_hash, th.head, th.number, th.step, "
            "th.branch, th.state_bytes, (SELECT max(seq) FROM gp_event WHERE thread_id = th.id), "
            "(SELECT max(number) FROM gp_checkpoint WHERE thread_id = th.id) "
            "FROM gp_thread th WHERE th.id = %s::uuid",
            (thread_id,),
        )
        row = cursor.fetchone()
    if row is None:
        raise NotFound("There is no such thread.")
    chain, last_seq, last_hash, *head, highest_seq, highest_number = row
    verified, prev, at_head = 0, NO_HASH, None
    past = _Past(thread_id, upto=highest_number)
    try:
        for event in _events(thread_id, last_seq):
            prev = _check_event(event, chain=chain, expected=verified + 1, prev=prev)
            if event.kind in _NAMING:
                at_head = past.check_next(event)
            verified += 1
        if verified < last_seq:
            raise _Broken(verified + 1, "missing at the end of the log")
        if (highest_seq or 0) > last_seq:
            raise _Broken(last_seq + 1, "stands behind the last event that the thread knows of")
        if prev != bytes(last_hash):
            raise _Broken(last_seq, "its hash is not the one that the thread ends with")
        past.check_end(last_seq)
        if at_head != tuple(head):
            raise _Broken(last_seq, "the thread's head is not the checkpoint named last")
    except _Broken as broken:
        what = f"Event {broken.seq}: {broken}."
        return ChainReport(thread_id, False, verified, broken.seq, what)
    return ChainReport(thread_id, True, verified, None, "")


@dataclass(frozen=True, slots=True)
class _Event:
    seq: int
    kind: str
    v: int
    actor: str
    data: str
    salt: bytes
    data_hash: bytes
    at: datetime
    prev_hash: bytes
    hash: bytes


def _plain(row: tuple[Any, ...]) -> list[Any]:
    return [bytes(v) if isinstance(v, memoryview) else v for v in row]


def _events(thread: UUID, last_seq: int) -> Iterator[_Event]:
    seq = None
    while True:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT seq, kind, v, actor, data::text, salt, data_hash, at, prev_hash, hash "
                "FROM gp_event WHERE thread_id = %s::uuid AND seq > %s::bigint "
                "AND seq <= %s::bigint ORDER BY seq LIMIT %s",
                (thread, -(2**62) if seq is None else seq, last_seq, EVENTS_AT_ONCE),
            )
            rows = cursor.fetchall()
        for r in rows:
            yield _Event(*_plain(r))
        if len(rows) < EVENTS_AT_ONCE:
            return
        seq = rows[-1][0]


def _check_event(event: _Event, *, chain: UUID, expected: int, prev: bytes) -> bytes:
    """The event's hash; raises _Broken."""
    if event.seq > expected:
        raise _Broken(expected, "missing in the log")
    if event.seq < expected:
        raise _Broken(event.seq, "stands before the first one")
    if event.prev_hash != prev:
        raise _Broken(event.seq, "does not continue the event before it")
    if _salted(event.seq, event.salt, event.data) != event.data_hash:
        raise _Broken(event.seq, "its data do not fit their hash")
    found = link(
        chain=chain,
        seq=event.seq,
        kind=event.kind,
        v=event.v,
        actor=event.actor,
        at=event.at,
        data_hash=event.data_hash,
        prev_hash=prev,
    )
    if found != event.hash:
        raise _Broken(event.seq, "does not fit its hash")
    return found


def _salted(seq: int, salt: bytes, text: str) -> bytes:
    try:
        return sha256(salt + deltas.canonical(deltas.decode(text))).digest()
    except GatepostError as error:
        raise _Broken(seq, f"holds what is never stored ({error})") from error


@dataclass(frozen=True, slots=True)
class _Checkpoint:
    id: UUID
    number: int
    step: int
    branch: int
    branch_start: int
    parent: UUID | None
    parent_thread: UUID | None
    parent_number: int | None
    source: str
    nodes: str
    next_nodes: str
    delta: str
    salt: bytes
    delta_hash: bytes
    state_hash: bytes
    state_bytes: int
    agent_version: UUID
    created_by: str
    created_at: datetime

    def named(self) -> dict[str, Any]:
        """How the event of its commit names it."""
        return {
            "checkpoint": str(self.id),
            "number": self.number,
            "step": self.step,
            "branch": self.branch,
            "parent": None if self.parent is None else str(self.parent),
            "source": self.source,
            "nodes": deltas.decode(self.nodes),
            "next": deltas.decode(self.next_nodes),
            "delta_hash": self.delta_hash.hex(),
            "state_hash": self.state_hash.hex(),
        }


class _Past:
    """A thread's checkpoints in the order of their commits, folded again beside the events."""

    def __init__(self, thread: UUID, *, upto: int | None) -> None:
        self._thread = thread
        self._upto = -1 if upto is None else upto
        self._rows = self._read()
        self._former: _Checkpoint | None = None
        self._folder = Folder({})
        self._digests = Digests({})
        with connection.cursor() as cursor:
            cursor.execute("SELECT number FROM gp_keyframe WHERE thread_id = %s::uuid", (thread,))
            self._keyframes = {number for (number,) in cursor.fetchall()}

    def _read(self) -> Iterator[_Checkpoint]:
        number = -(2**31)
        while True:
            with connection.cursor() as cursor:
                cursor.execute(
                    "SELECT id, number, step, branch, branch_start, parent, parent_thread, "
                    "parent_number, source, nodes::text, next_nodes::text, delta::text, salt, "
                    "delta_hash, state_hash, state_bytes, agent_version_id, created_by, "
                    "created_at FROM gp_checkpoint WHERE thread_id = %s::uuid "
                    "AND number > %s::integer AND number <= %s::integer ORDER BY number LIMIT %s",
                    (self._thread, number, self._upto, CHECKPOINTS_AT_ONCE),
                )
                rows = cursor.fetchall()
            for r in rows:
                yield _Checkpoint(*_plain(r))
            if len(rows) < CHECKPOINTS_AT_ONCE:
                return
            number = rows[-1][1]

    def check_next(self, event: _Event) -> tuple[UUID, int, int, int, int]:
        """Check the checkpoint that `event` names; (id, number, step, branch, bytes)."""
        data = deltas.decode(event.data)
        named = data if event.kind == EventKind.CHECKPOINT_COMMITTED else data.get("checkpoint")
        c = next(self._rows, None)
        if c is None or c.named() != named:
            raise _Broken(event.seq, "the checkpoint it names is missing or was altered")
        if (c.created_by, c.created_at) != (event.actor, event.at):
            raise _Broken(event.seq, "author or time of its checkpoint were altered")
        if _salted(event.seq, c.salt, c.delta) != c.delta_hash:
            raise _Broken(event.seq, "the delta of its checkpoint does not fit its hash")
        if event.kind == EventKind.THREAD_FORKED:
            self._check_base(event, c, data)
        try:
            self._fold(event, c)
        except GatepostError as error:
            raise _Broken(event.seq, f"its checkpoint cannot be applied ({error})") from error
        if (self._digests.root, self._digests.size) != (c.state_hash, c.state_bytes):
            raise _Broken(event.seq, "the state at its checkpoint does not fit its hash")
        if c.number in self._keyframes:
            self._check_keyframe(event, c)
        self._former = c
        return c.id, c.number, c.step, c.branch, c.state_bytes

    def check_end(self, last_seq: int) -> None:
        """Refuse checkpoints that no event names."""
        if (left := next(self._rows, None)) is not None:
            raise _Broken(last_seq, f"no event names checkpoint {left.number}")

    def _fold(self, event: _Event, c: _Checkpoint) -> None:
        """Bring state and digests from the checkpoint's parent to the checkpoint."""
        former = self._former
        delta = deltas.decode(c.delta)
        if c.number != c.branch_start:
            expected = former and (former.id, self._thread, former.number, former.branch_start)
            if expected != (c.parent, c.parent_thread, c.parent_number, c.branch_start):
                raise _Broken(event.seq, "its checkpoint does not continue the one before it")
            self._folder.add(delta)
            if former and former.agent_version == c.agent_version:
                self._digests.update(delta, self._folder.state)
                return
        else:
            base: Mapping[str, Any] = {}
            if c.parent is not None and c.parent_thread is not None:
                base = history.materialise(c.parent_thread, c.parent).state
            self._folder = Folder(base)
            self._folder.add(delta)
        reducers = history.reducers_of(c.agent_version)
        self._digests = Digests.of(self._folder.state, reducers)

    def _check_keyframe(self, event: _Event, c: _Checkpoint) -> None:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT state::text FROM gp_keyframe WHERE thread_id = %s::uuid "
                "AND number = %s::integer",
                (self._thread, c.number),
            )
            row = cursor.fetchone()
        if row is not None:
            cached = Digests.of(deltas.decode(row[0]), history.reducers_of(c.agent_version))
            if cached.root != c.state_hash:
                raise _Broken(event.seq, "the cached state at its checkpoint does not fit its hash")

    def _check_base(self, event: _Event, c: _Checkpoint, data: Mapping[str, Any]) -> None:
        """The base's chain must still hold, at its place, the event that the fork is bound to."""
        named = (data["base"], data["base_checkpoint"], data["base_number"])
        if named != (str(c.parent_thread), str(c.parent), c.parent_number):
            raise _Broken(event.seq, "its checkpoint was taken from elsewhere")
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT th.chain_id, e.hash FROM gp_thread th JOIN gp_event e "
                "ON e.thread_id = th.id AND e.seq = %s::bigint WHERE th.id = %s::uuid",
                (data["base_seq"], c.parent_thread),
            )
            row = cursor.fetchone()
        if row is None or (str(row[0]), bytes(row[1]).hex()) != (
            data["base_chain"],
            data["base_hash"],
        ):
            raise _Broken(event.seq, "the thread it was forked from was altered")
