"""Tables of a harness, kept in memory, and the one way to change a thread.

`MemoryTables.move` stands for the store's one statement: guard, status, head, chained events and
whatever belongs to them, all or nothing. Values are kept as canonical JSON text and decoded at each
reading, so a reader meets what PostgreSQL would give back, down to the order of an object's keys.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from uuid_utils.compat import uuid7

from approvals.policies.matches import Facts, Rule
from approvals.queries import ApprovalRow
from approvals.rules.votes import Vote
from checkpoints.chain import NO_HASH, Event, link
from checkpoints.errors import NotAllowedNow, NotFound
from checkpoints.payloads.base import DATABASE, LIMITS
from checkpoints.queries.states import materialized
from checkpoints.records import Position
from checkpoints.state import deltas, references
from checkpoints.state.channels import Digests, Reducer
from checkpoints.states import EventKind, Status, pairs
from checkpoints.store import NewCheckpoint, NewEvent
from checkpoints.store.statement.checkpoint_rows import checkpoint_insert, delta_of
from checkpoints.store.statement.moves import encode_event
from checkpoints.views import ActivityRow

PAIRS = pairs()


def written(value: Any) -> str:
    """The stored form of a value; raises InvalidValue for what cannot be stored."""
    return deltas.canonical(value).decode()


def read(text: str | None) -> Any:
    """A kept value as PostgreSQL would give it back."""
    return None if text is None else _as_jsonb(deltas.decode(text))


def _as_jsonb(value: Any) -> Any:
    if isinstance(value, dict):
        names = sorted(value, key=lambda k: (len(raw := k.encode()), raw))
        return {k: _as_jsonb(value[k]) for k in names}
    return [_as_jsonb(x) for x in value] if isinstance(value, list) else value


@dataclass
class Row:
    """A thread as its row says, without what lists need."""

    id: UUID
    workspace: UUID
    agent: str
    agent_version: UUID
    title: str
    started_by: str
    created_at: datetime
    effects: str = "run"
    pause_at: str = ""
    base: UUID | None = None
    forked_from: UUID | None = None
    parent: UUID | None = None
    root: UUID | None = None
    depth: int = 0
    automatic_title: bool = False
    chain_id: UUID = field(default_factory=uuid7)
    status: Status = Status.QUEUED
    status_reason: str = ""
    waiting_on: str | None = None
    wake_at: datetime | None = None
    wake_seq: int = 0
    wish: str = ""
    wish_by: str = ""
    head: UUID = field(default_factory=uuid7)
    number: int = 0
    step: int = 0
    branch: int = 0
    branch_start: int = 0
    next_nodes: tuple[str, ...] = ()
    state_bytes: int = 0
    version: int = 1
    last_seq: int = 0
    last_hash: bytes = NO_HASH
    lease_owner: str = ""
    lease_token: UUID | None = None
    lease_until: datetime | None = None
    fence: int = 0
    crash_count: int = 0
    rollback: str | None = None
    n_steps: int = 0
    tokens: int = 0
    cost: str = "0"

    @property
    def agent_version_id(self) -> UUID:
        """The same by the name that readers use."""
        return self.agent_version

    def __post_init__(self) -> None:
        self.status_since = self.last_at = self.created_at


@dataclass(frozen=True, slots=True)
class SavedCheckpoint:
    """A checkpoint as kept; `delta` is canonical text."""

    new: NewCheckpoint
    thread: UUID
    delta: str
    salt: bytes
    delta_hash: bytes
    created_at: datetime


@dataclass
class Family:
    """The agents of a harness that start each other.

    `graphs` are {name: (graph, agent version)}, `deadlines` until when parents wait.
    """

    graphs: dict[str, tuple[Any, UUID]] = field(default_factory=dict)
    children: dict[UUID, list[UUID]] = field(default_factory=dict)
    deadlines: dict[UUID, float] = field(default_factory=dict)
    successors: dict[UUID, UUID] = field(default_factory=dict)

    def now(self, child: UUID) -> UUID:
        """The thread that stands for a child: itself, or whom it handed over to."""
        while child in self.successors:
            child = self.successors[child]
        return child


Guard = Callable[[Row], bool]


@dataclass
class MemoryTables:
    """Threads, checkpoints, events, activities, requests and files of one process.

    `reducers` are those of each agent version that wrote here.
    `ahead` is how far its clock runs before the machine's: sleeping moves the clock, not the hand.
    """

    workspace: UUID = field(default_factory=uuid7)
    rows: dict[UUID, Row] = field(default_factory=dict)
    checkpoints: dict[UUID, dict[UUID, SavedCheckpoint]] = field(default_factory=dict)
    events: dict[UUID, list[Event]] = field(default_factory=dict)
    activities: dict[tuple[UUID, Position, int], ActivityRow] = field(default_factory=dict)
    approvals: dict[UUID, ApprovalRow] = field(default_factory=dict)
    votes: dict[UUID, list[Vote]] = field(default_factory=dict)
    inputs: dict[UUID, list[int]] = field(default_factory=dict)
    files: dict[str, tuple[str, str, bytes]] = field(default_factory=dict)
    contents: dict[tuple[UUID, str], bytes] = field(default_factory=dict)
    # Agent versions that chose another store than the database: its limit holds here as well.
    limits: dict[UUID, int] = field(default_factory=dict)
    # (workspace, what is named) -> until when it is not to be called, and what it said.
    held_off: dict[tuple[UUID, str], tuple[datetime, str]] = field(default_factory=dict)
    progress: list[dict[str, Any]] = field(default_factory=list)
    # Of forks that have one: the budget with which they began, and the one that holds now.
    budgets: dict[UUID, tuple[dict[str, Any], dict[str, Any]]] = field(default_factory=dict)
    # Results across threads: until when, and what.
    cached: dict[str, tuple[datetime, str]] = field(default_factory=dict)
    reducers: dict[UUID, Mapping[str, Reducer]] = field(default_factory=dict)
    # Of a thread that plays a tape: agent versions whose requests hold under the installed code.
    accepted: dict[UUID, Collection[UUID]] = field(default_factory=dict)
    family: Family = field(default_factory=Family)
    # What the play says in place of an admin's policies, and of caps.
    policy: Callable[[Facts], Rule | None] | None = None
    cap: str | None = None
    # What model calls under way may cost, by thread and position.
    reserved: dict[tuple[UUID, Position], Decimal] = field(default_factory=dict)
    ahead: timedelta = timedelta()
    lock: threading.RLock = field(default_factory=threading.RLock)

    def now(self) -> datetime:
        """The tables's clock."""
        return datetime.now(UTC) + self.ahead

    def later(self, seconds: float) -> datetime:
        """The clock in this number of seconds."""
        return self.now() + timedelta(seconds=seconds)

    def pass_time(self, seconds: float) -> None:
        """Let the clock run ahead; nothing waits for it."""
        self.ahead += timedelta(seconds=max(0.0, seconds))

    def row(self, thread: UUID) -> Row:
        """The row of a thread; raises NotFound."""
        if thread not in self.rows:
            raise NotFound("There is no such thread.")
        return self.rows[thread]

    def move(
        self,
        thread: UUID,
        *,
        guard: Guard = lambda _: True,
        sets: Mapping[str, Any] | None = None,
        status: Status | None = None,
        reason: str = "",
        before: Sequence[NewEvent] = (),
        events: Sequence[NewEvent] = (),
        checkpoint: NewCheckpoint | None = None,
        also: Callable[[datetime], None] | None = None,
    ) -> Row | None:
        """Change a thread in one go; None when the guard did not hold, nothing changed then.

        The event of a checkpoint's commit stands between `before` and `events`. Everything that
        can be refused is refused before the first change; `also` must not fail.
        """
        with self.lock:
            row = self.rows.get(thread)
            if row is None or not guard(row):
                return None
            moves = status is not None and status != row.status
            if moves and (str(row.status), str(status)) not in PAIRS:
                raise NotAllowedNow(f"{row.status} does not lead to {status}.")
            at = max(self.now(), row.last_at)
            saved, payload = (
                (None, []) if checkpoint is None else sealed(self, thread, checkpoint, at)
            )
            encoded = [(e, *encode_event(e)) for e in (*before, *payload, *events)]
            for key, value in (sets or {}).items():
                setattr(row, key, value)
            if status is not None:
                row.status_since = row.status_since if row.status == status else at
                row.status, row.status_reason = status, reason
            if saved is not None:
                self.set_head(row, saved)
            if status is not None or saved is not None:
                row.version += 1
            for event, text, salt, digest in encoded:
                if event.kind is EventKind.TITLE_SUGGESTED and row.automatic_title:
                    row.title = event.data["title"]
                self.append(row, event, text, salt, digest, at)
            if also is not None:
                also(at)
            return row

    def set_head(self, row: Row, saved: SavedCheckpoint) -> None:
        """Keep a checkpoint and let the thread stand there."""
        c = saved.new
        self.checkpoints.setdefault(row.id, {})[c.id] = saved
        row.head, row.number, row.step = c.id, c.number, c.step
        row.branch, row.branch_start = c.branch, c.branch_start
        row.next_nodes, row.state_bytes = tuple(c.next_nodes), c.state_bytes

    def append(
        self, row: Row, event: NewEvent, text: str, salt: bytes, digest: bytes, at: datetime
    ) -> None:
        """Chain one event to the thread's log."""
        linked: dict[str, Any] = {
            "seq": row.last_seq + 1,
            "kind": str(event.kind),
            "v": event.v,
            "actor": event.actor,
            "at": at,
            "data_hash": digest,
            "prev_hash": row.last_hash,
        }
        end = link(chain=row.chain_id, **linked)
        entry = Event(workspace=row.workspace, data=text, salt=salt, hash=end, **linked)
        self.events.setdefault(row.id, []).append(entry)
        row.last_seq, row.last_hash, row.last_at = entry.seq, end, at

    def checkpoint(self, thread: UUID, ident: UUID) -> SavedCheckpoint:
        """A checkpoint of this very thread; raises NotFound."""
        result = self.checkpoints.get(thread, {}).get(ident)
        if result is None:
            raise NotFound("There is no such checkpoint in this thread.")
        return result

    def materialise(self, thread: UUID, ident: UUID) -> materialized.Materialised:
        """The state at a checkpoint, folded from its deltas; raises NotFound."""
        checkpoint = self.checkpoint(thread, ident)
        past = [checkpoint]
        while past[-1].new.parent is not None:
            owner, parent = past[-1].new.parent_thread, past[-1].new.parent
            past.append(self.checkpoint(owner or thread, parent))
        state = deltas.fold({}, (self.delta(k) for k in reversed(past)))
        return materialized.Materialised(
            state, checkpoint.new.state_hash, checkpoint.new.schema_version, len(past)
        )

    def delta(self, saved: SavedCheckpoint) -> dict[str, Any]:
        """A checkpoint's delta with the values that it names; CorruptHistory where one is not."""
        stored = read(saved.delta)
        names = references.named(stored.get(references.PUT, {})).values()
        return references.resolved(
            stored, MemoryPayloads(self).get([saved.thread], references.wanted(names))
        )

    def checked(self, thread: UUID, ident: UUID) -> tuple[materialized.Materialised, Digests]:
        """A state with its digests; CorruptHistory when it does not fit its checkpoint's hash."""
        result = self.materialise(thread, ident)
        version = self.checkpoint(thread, ident).new.agent_version
        return result, materialized.checked_digests(result, self.reducers[version])


@dataclass(frozen=True, slots=True)
class MemoryPayloads:
    """Contents in memory; the interface is that of the stores in the database and in files."""

    tables: MemoryTables
    limit: int = LIMITS[DATABASE]

    def put(self, thread: UUID, contents: Mapping[str, bytes]) -> Mapping[str, bytes]:
        """Keep them; nothing is left to be written with the row."""
        for sha, raw in contents.items():
            self.tables.contents.setdefault((thread, sha), raw)
        return {}

    def get(self, threads: Sequence[UUID], hashes: Collection[str]) -> dict[str, bytes]:
        """Those that one of the threads has."""
        known = self.tables.contents
        return {s: known[t, s] for s in hashes for t in threads if (t, s) in known}


def sealed(
    tables: MemoryTables, thread: UUID, checkpoint: NewCheckpoint, at: datetime
) -> tuple[SavedCheckpoint, list[NewEvent]]:
    """A checkpoint as it is kept, checked like one that goes to PostgreSQL, and its event."""
    limit = tables.limits.get(checkpoint.agent_version, LIMITS[DATABASE])
    inserts, event = checkpoint_insert(thread, checkpoint, MemoryPayloads(tables, limit))
    salt, delta_hash, delta = delta_of(inserts[0])
    return SavedCheckpoint(checkpoint, thread, delta, salt, delta_hash, at), [event]
