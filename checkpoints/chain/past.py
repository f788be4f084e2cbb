"""A thread's checkpoints, folded again beside the events that name them."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Any
from uuid import UUID

from django.db import connection

from .. import payloads
from ..errors import ContentAway, GatepostError
from ..log.seals import checkpoint_seal
from ..queries.states import materialized
from ..state import deltas, references
from ..state.channels import Digests
from ..state.deltas import Folder
from ..state.searchable import kept_values, searchable_of
from ..states import EventKind, Proof, kinds_of
from ..tables.columns import CHECKPOINT
from ..tables.readers import Reader
from .events import Event
from .links import Broken, fits

# Rows per statement: a delta has at most what a state may have.
CHECKPOINTS_AT_ONCE = 50
NAMING = kinds_of(Proof.CHECKPOINT)


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
    workspace: UUID
    schema_version: int
    config: str | None
    digests: bytes | None

    def fits(self, named: Mapping[str, Any]) -> bool:
        """Check that the row is as the event of its commit names it."""
        config_hash = None
        if self.config is not None:
            raw = deltas.canonical(deltas.decode(self.config))
            config_hash = sha256(self.salt + raw).hexdigest()
        position = {
            "checkpoint": str(self.id),
            "number": self.number,
            "step": self.step,
            "nodes": deltas.decode(self.nodes),
            "next": deltas.decode(self.next_nodes),
        }
        if "seal" in named:
            result = checkpoint_seal(
                branch=self.branch,
                parent=self.parent,
                source=self.source,
                delta_hash=self.delta_hash,
                state_hash=self.state_hash,
                schema_version=self.schema_version,
                agent_version=self.agent_version,
                config_hash=config_hash,
            )
            return position | {"seal": result} == named
        # Before there were seals each column was named; in the first days two were not.
        listed = position | {
            "branch": self.branch,
            "parent": None if self.parent is None else str(self.parent),
            "source": self.source,
            "delta_hash": self.delta_hash.hex(),
            "state_hash": self.state_hash.hex(),
            "schema_version": self.schema_version,
            "agent_version": str(self.agent_version),
            **({} if config_hash is None else {"config_hash": config_hash}),
        }
        unnamed = {"schema_version", "agent_version"} - set(named)
        return {key: value for key, value in listed.items() if key not in unnamed} == named


_read = Reader(
    _Checkpoint,
    CHECKPOINT,
    sql={"agent_version": "agent_version_id", "workspace": "workspace_id"},
    json_as_text=True,
)


class Past:
    """A thread's checkpoints in the order of their commits, folded again beside the events."""

    def __init__(self, thread: UUID, workspace: UUID, *, upto: int) -> None:
        self.upto = upto
        self._thread = thread
        self._workspace = workspace
        self._batch: deque[_Checkpoint] = deque()
        self._number = -(2**31)
        self._former: _Checkpoint | None = None
        self.n_steps = 0  # as the thread's row counts them
        self._folder = Folder({})
        self._digests = Digests({})
        self._named: dict[str, int] = {}  # contents, and the first event that leads to each
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT number, NULL::varchar, NULL::uuid FROM gp_keyframe "
                "WHERE thread_id = %s::uuid UNION ALL "
                "SELECT NULL, sha256, workspace_id FROM gp_content WHERE thread_id = %s::uuid",
                (thread, thread),
            )
            rows = cursor.fetchall()
        self._keyframes = {number for number, _, _ in rows if number is not None}
        # What was there before the first look at the events must be named by one of them.
        self._contents = {sha: workspace for number, sha, workspace in rows if number is None}

    def _next(self) -> _Checkpoint | None:
        """The next one in the order of numbers, up to `upto`."""
        if not self._batch:
            with connection.cursor() as cursor:
                cursor.execute(
                    f"SELECT {_read.select} FROM gp_checkpoint "
                    "WHERE thread_id = %s::uuid AND number > %s::integer AND number <= %s::integer "
                    "ORDER BY number LIMIT %s",
                    (self._thread, self._number, self.upto, CHECKPOINTS_AT_ONCE),
                )
                self._batch.extend(map(_read, cursor.fetchall()))
        if not self._batch:
            return None
        result = self._batch.popleft()
        self._number = result.number
        return result

    def check_next(self, event: Event) -> tuple[UUID, int, int, int, int, int, str]:
        """Check the checkpoint that `event` names; it as `_Facts.head` has it."""
        data = deltas.decode(event.data)
        named = data if event.kind == EventKind.CHECKPOINT_COMMITTED else data.get("checkpoint")
        c = self._next()
        if c is None or not isinstance(named, dict) or not c.fits(named):
            raise Broken(event.seq, "the checkpoint it names is missing or was altered")
        if (c.created_by, c.created_at) != (event.actor, event.at):
            raise Broken(event.seq, "author or time of its checkpoint were altered")
        if c.workspace != self._workspace:
            raise Broken(event.seq, "its checkpoint lies in another workspace")
        if fits(event.seq, c.salt, c.delta) != c.delta_hash:
            raise Broken(event.seq, "the delta of its checkpoint does not match its hash")
        if event.kind == EventKind.THREAD_FORKED:
            self._check_base(event, c, data)
        try:
            self._fold(event, c)
        except ContentAway:  # nothing is known of it
            raise
        except GatepostError as error:
            why = str(error).rstrip(".")
            raise Broken(event.seq, f"its checkpoint cannot be applied ({why})") from error
        if (self._digests.root, self._digests.size) != (c.state_hash, c.state_bytes):
            raise Broken(event.seq, "the state at its checkpoint does not match its hash")
        if c.digests is not None and c.digests != self._digests.to_bytes():
            raise Broken(event.seq, "the digests kept with its checkpoint are not those of it")
        if c.number in self._keyframes:
            self._check_keyframe(event, c)
        if c.source == "step" and self._former is not None and c.step > self._former.step:
            self.n_steps += 1
        self._former = c
        return c.id, c.number, c.step, c.branch, c.state_bytes, c.branch_start, c.next_nodes

    def is_searched_by(self, column: str | None, channels: str | None) -> bool:
        """Compare the searchable values of the thread's row with the state checked last."""
        names = searchable_of({} if channels is None else deltas.decode(channels))
        if column is None or not names:
            return column is None and not names
        return bool(deltas.decode(column) == kept_values(names, self._folder.state))

    @property
    def agent_version(self) -> UUID | None:
        """Of the checkpoint checked last."""
        return None if self._former is None else self._former.agent_version

    def check_end(self, last_seq: int) -> None:
        """Refuse checkpoints that no event names."""
        if (left := self._next()) is not None:
            raise Broken(last_seq, f"no event names checkpoint {left.number}")

    def check_contents(self, last_seq: int) -> None:
        """Refuse contents in the database that no checkpoint names, or of another workspace."""
        for sha, workspace in self._contents.items():
            if sha not in self._named:
                raise Broken(last_seq, f"no checkpoint names the content {sha[:12]}")
            if workspace != self._workspace:
                raise Broken(self._named[sha], "a content it leads to is in another workspace")

    def _delta(self, event: Event, c: _Checkpoint) -> dict[str, Any]:
        """A checkpoint's delta with all that it names; what is named is read again as it lies."""
        delta = deltas.decode(c.delta)
        if references.PUT not in delta:
            return dict(delta)
        sizes = references.wanted(references.named(delta[references.PUT]).values())
        try:
            contents = payloads.fetched([self._thread], sizes, agent_version=c.agent_version)
            result = references.resolved(delta, contents)
        except ContentAway:
            raise
        except GatepostError as error:
            why = str(error).rstrip(".")
            raise Broken(event.seq, f"checkpoint {c.number} is not whole: {why}") from error
        for sha in sizes:
            self._named.setdefault(sha, event.seq)
        return result

    def _fold(self, event: Event, c: _Checkpoint) -> None:
        """Bring state and digests from the checkpoint's parent to the checkpoint."""
        former = self._former
        delta = self._delta(event, c)
        begins = former is None or (former.branch, former.id) != (c.branch, c.parent)
        if c.number != c.branch_start:
            expected = former and (former.id, self._thread, former.number, former.branch_start)
            current = (c.parent, c.parent_thread, c.parent_number, c.branch_start)
            if begins or expected != current:
                raise Broken(event.seq, "its checkpoint does not continue the one before it")
            self._folder.add(delta)
            if former and former.agent_version == c.agent_version:
                self._digests.update(delta, self._folder.state)
                return
        else:
            self._check_parent(event, c)
            if not begins:
                raise Broken(event.seq, "where the branch of its checkpoint begins was altered")
            base: Mapping[str, Any] = {}
            if c.parent is not None and c.parent_thread is not None:
                base = materialized.materialise(c.parent_thread, c.parent).state
            self._folder = Folder(base)
            self._folder.add(delta)
        reducers = materialized.reducers_of(c.agent_version)
        self._digests = Digests.of(self._folder.state, reducers)

    def _check_parent(self, event: Event, c: _Checkpoint) -> None:
        """Check that a branch begins at the checkpoint (thread, number) it names as parent."""
        if c.parent is not None:
            with connection.cursor() as cursor:
                cursor.execute(
                    "SELECT id FROM gp_checkpoint WHERE thread_id = %s::uuid "
                    "AND number = %s::integer",
                    (c.parent_thread, c.parent_number),
                )
                row = cursor.fetchone()
            current = None if row is None else row[0]
            foreign = c.number > 0 and c.parent_thread != self._thread
            if foreign or current != c.parent:
                raise Broken(event.seq, "the place of its checkpoint's parent was altered")
        elif (c.parent_thread, c.parent_number) != (None, None):
            raise Broken(event.seq, "its checkpoint was given a parent")

    def _check_keyframe(self, event: Event, c: _Checkpoint) -> None:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT state::text FROM gp_keyframe WHERE thread_id = %s::uuid "
                "AND number = %s::integer",
                (self._thread, c.number),
            )
            row = cursor.fetchone()
        if row is None:
            return
        try:
            cached = Digests.of(deltas.decode(row[0]), materialized.reducers_of(c.agent_version))
        except (GatepostError, AttributeError) as error:
            raise Broken(event.seq, "the cached state at its checkpoint is not a state") from error
        if cached.root != c.state_hash:
            raise Broken(event.seq, "the cached state at its checkpoint does not match its hash")

    def _check_base(self, event: Event, c: _Checkpoint, data: Mapping[str, Any]) -> None:
        """The base's chain must still hold, at its place, the event that the fork is bound to."""
        named = (data["base"], data["base_checkpoint"], data["base_number"])
        if named != (str(c.parent_thread), str(c.parent), c.parent_number):
            raise Broken(event.seq, "its checkpoint was taken from elsewhere")
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
            raise Broken(event.seq, "the thread it was forked from was altered")
