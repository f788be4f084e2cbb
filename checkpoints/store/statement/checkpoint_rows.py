"""The row of a checkpoint, the contents that go with it, and the event that names them."""

from __future__ import annotations

from hashlib import sha256
from uuid import UUID

from checkpoints import payloads
from checkpoints.queries.states import saved_digests
from checkpoints.state import deltas
from checkpoints.states import EventKind

from .canonical_texts import checkpoint_seal, committed_text, names_text
from .contents import CONTENT, content_params
from .moves import Insert, NewCheckpoint, NewEvent, salted
from .text import Columns

_CHECKPOINT = Columns(
    "gp_checkpoint",
    {
        "thread_id": "t.id",
        "workspace_id": "t.workspace_id",
        "created_at": "t.last_at",
        "id": "t.head",
        "number": "t.number",
        "step": "t.step",
        "branch": "t.branch",
        "branch_start": "t.branch_start",
        "parent": "%s::uuid",
        "parent_thread": "%s::uuid",
        "parent_number": "%s::integer",
        "source": "%s::varchar",
        "nodes": "%s::jsonb",
        "next_nodes": "t.next_nodes",
        "delta": "%s::jsonb",
        "salt": "%s::bytea",
        "delta_hash": "%s::bytea",
        "state_hash": "%s::bytea",
        "state_bytes": "t.state_bytes",
        "schema_version": "%s::integer",
        "agent_version_id": "%s::uuid",
        "config": "%s::jsonb",
        "created_by": "%s::varchar",
    },
)
_WITH_DIGESTS = Columns("gp_checkpoint", {**_CHECKPOINT.sql, "digests": "%s::bytea"})

# Where the delta stands among the parameters of that row.
_DELTA = 5


def checkpoint_insert(
    thread: UUID, checkpoint: NewCheckpoint, store: payloads.Payloads | None = None
) -> tuple[list[Insert], NewEvent]:
    """The row of a checkpoint, contents that go with it, and the event that names them.

    Large values go to the store that the agent chose, or to `store`. Raises InvalidValue for too
    large a state.
    """
    deltas.check_size(checkpoint.state_bytes, deltas.LIMITS.state_bytes, "the state")
    whole = deltas.canonical(dict(checkpoint.delta))
    raw, contents = payloads.moved_out(
        whole,
        checkpoint.delta,
        thread=thread,
        agent_version=checkpoint.agent_version,
        payloads=store,
    )
    salt, delta_hash = salted(raw)
    c = checkpoint
    config = None if c.config is None else deltas.canonical(dict(c.config))
    params = (
        c.parent,
        c.parent_thread,
        c.parent_number,
        c.source,
        names_text(c.nodes),
        raw.decode(),
        salt,
        delta_hash,
        c.state_hash,
        c.schema_version,
        c.agent_version,
        None if config is None else config.decode(),
        c.created_by,
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
    name = str(c.id)
    event = NewEvent(
        EventKind.CHECKPOINT_COMMITTED,
        {
            "checkpoint": name,
            "number": c.number,
            "step": c.step,
            "nodes": list(c.nodes),
            "next": list(c.next_nodes),
            "seal": sealed,
        },
        c.created_by,
        v=2,
        raw=committed_text(
            checkpoint=name,
            number=c.number,
            step=c.step,
            nodes=c.nodes,
            following=c.next_nodes,
            seal=sealed,
        ),
    )
    inserts = [Insert(_CHECKPOINT, params)]
    if c.digests is not None and saved_digests.due(c.number, len(whole)):
        inserts = [Insert(_WITH_DIGESTS, (*params, c.digests.kept()))]
    if contents:
        inserts.append(Insert(CONTENT, content_params(contents)))
    return inserts, event


def delta_of(insert: Insert) -> tuple[bytes, bytes, str]:
    """(salt, hash, canonical JSON) of the delta in the row of a checkpoint."""
    delta, salt, delta_hash = insert.params[_DELTA : _DELTA + 3]
    return salt, delta_hash, delta


def delta_bytes(insert: Insert) -> int:
    """The size of the delta in the row of a checkpoint, in characters of its JSON."""
    return len(insert.params[_DELTA])
