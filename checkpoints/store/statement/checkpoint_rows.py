"""The row of a checkpoint, the contents that go with it, and the event that names them."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Any
from uuid import UUID

from checkpoints import payloads
from checkpoints.log.seals import checkpoint_seal
from checkpoints.queries.states import saved_digests
from checkpoints.state import deltas
from checkpoints.states import EventKind
from checkpoints.tables.columns import CHECKPOINT

from .contents import CONTENT, content_params
from .moves import OF_HEAD, Insert, NewCheckpoint, NewEvent, names_json, salted
from .text import row_sql

# What the statement knows of the thread's row as it moves it.
_OF_THREAD = {"thread_id": "t.id", "workspace_id": "t.workspace_id", "created_at": "t.last_at"}
_OF_ITS_HEAD = _OF_THREAD | {name: f"t.{column}" for name, column in OF_HEAD.items()}
_CHECKPOINT = row_sql(CHECKPOINT.without("digests"), _OF_ITS_HEAD)
_WITH_DIGESTS = row_sql(CHECKPOINT, _OF_ITS_HEAD)
# The columns of a row that stands for itself: those of its thread, then as `checkpoint_row` does.
COPIED = CHECKPOINT.only(*_OF_THREAD, *OF_HEAD, *_CHECKPOINT.values._fields, "digests")


def checkpoint_insert(thread: UUID, checkpoint: NewCheckpoint) -> tuple[list[Insert], NewEvent]:
    """Make the row of a checkpoint, the rows of its contents, and the event that names them.

    The statement makes it the head of its thread. Raises InvalidValue for a state that is too
    large.
    """
    whole = deltas.canonical(dict(checkpoint.delta))
    row, contents, event = _parts(thread, checkpoint, whole)
    c = checkpoint
    if c.digests is not None and saved_digests.due(c.number, len(whole)):
        digests = c.digests.to_bytes()
        inserts = [Insert(_WITH_DIGESTS, _WITH_DIGESTS.values(*row, digests=digests))]
    else:
        inserts = [Insert(_CHECKPOINT, row)]
    if contents:
        inserts.append(Insert(CONTENT, content_params(contents)))
    return inserts, event


def checkpoint_row(
    thread: UUID, checkpoint: NewCheckpoint, whole: bytes, digests: bytes | None
) -> tuple[tuple[Any, ...], Mapping[str, bytes], NewEvent]:
    """(the values of COPIED after those of its thread, the contents, the event) of a checkpoint.

    `whole` is its delta, `digests` are those to be saved with it.
    """
    row, contents, event = _parts(thread, checkpoint, whole)
    c = checkpoint
    names = names_json(tuple(c.next_nodes))
    head = (c.id, c.number, c.step, c.branch, c.branch_start, names, c.state_bytes)
    return (*head, *row, digests), contents, event


def _parts(
    thread: UUID, checkpoint: NewCheckpoint, whole: bytes
) -> tuple[Any, Mapping[str, bytes], NewEvent]:
    """(the values of _CHECKPOINT, the contents, the event) of a checkpoint.

    1. Check the size of the state; raises InvalidValue where it is too large.
    2. Move large values out of the delta, to the store that the agent chose.
    3. Salt the delta, and seal what the chain has to prove of the row.
    """
    deltas.check_size(checkpoint.state_bytes, deltas.LIMITS.state_bytes, "the state")
    raw, contents = payloads.moved_out(
        whole, checkpoint.delta, thread=thread, agent_version=checkpoint.agent_version
    )
    salt, delta_hash = salted(raw)
    c = checkpoint
    config = None if c.config is None else deltas.canonical(dict(c.config))
    row = _CHECKPOINT.values(
        parent=c.parent,
        parent_thread=c.parent_thread,
        parent_number=c.parent_number,
        source=c.source,
        nodes=names_json(tuple(c.nodes)),
        delta=raw.decode(),
        salt=salt,
        delta_hash=delta_hash,
        state_hash=c.state_hash,
        schema_version=c.schema_version,
        agent_version_id=c.agent_version,
        config=None if config is None else config.decode(),
        created_by=c.created_by,
    )
    sealed = checkpoint_seal(
        branch=c.branch,
        parent=c.parent,
        source=c.source,
        delta_hash=delta_hash,
        state_hash=c.state_hash,
        schema_version=c.schema_version,
        agent_version=c.agent_version,
        config_hash=None if config is None else sha256(salt + config).hexdigest(),
    )
    named = {"checkpoint": str(c.id), "number": c.number, "step": c.step, "seal": sealed}
    nodes = {"nodes": list(c.nodes), "next": list(c.next_nodes)}
    event = NewEvent(EventKind.CHECKPOINT_COMMITTED, {**named, **nodes}, c.created_by, v=2)
    return row, contents, event


def delta_bytes(insert: Insert) -> int:
    """The size of the delta in the row of a checkpoint, in characters of its JSON."""
    return len(insert.params.delta)
