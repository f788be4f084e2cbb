"""How a thread begins in a book: with an input, or forked from any checkpoint of another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from uuid_utils.compat import uuid7

from checkpoints.log import steering
from checkpoints.payloads.base import LIMITS
from checkpoints.state import deltas
from checkpoints.state.channels import Digests
from checkpoints.states import EventKind
from checkpoints.store import NewCheckpoint
from checkpoints.store.statement.guards import check_texts
from workers.authoring.graph import Graph

from . import reads as reading
from .book import Book, Row
from .people import birth, changed


def start(
    book: Book,
    graph: Graph,
    *,
    agent_version: UUID,
    input: Mapping[str, Any],
    actor: str,
    title: str = "",
    pause_at: str = "",
    effects: str = "run",
    config: Mapping[str, Any] | None = None,
) -> UUID:
    """Begin a thread with the input over the agent's defaults; its id."""
    check_texts(title=title, pause_at=pause_at)
    channels = graph.describe_channels()
    state = {c: spec["default"] for c, spec in channels.items() if "default" in spec} | dict(input)
    deltas.check(state)
    book.reducers[agent_version] = graph.reducers
    book.limits[agent_version] = LIMITS[graph.payloads]
    digests = Digests.of(state, graph.reducers)
    checkpoint = NewCheckpoint(
        id=uuid7(),
        number=0,
        step=0,
        branch=0,
        branch_start=0,
        parent=None,
        parent_thread=None,
        parent_number=None,
        source="input",
        nodes=(),
        next_nodes=graph.entry,
        delta={"set": state},
        state_hash=digests.root,
        state_bytes=digests.size,
        schema_version=graph.schema_version,
        agent_version=agent_version,
        created_by=actor,
        config=config or None,
    )
    row = Row(
        id=uuid7(),
        workspace=book.workspace,
        agent=graph.name,
        agent_version=agent_version,
        title=title or graph.name,
        started_by=actor,
        created_at=book.now(),
        effects=effects,
        pause_at=pause_at,
    )
    told = steering.told(queue=graph.queue, pause_at=pause_at, effects=effects)
    data = {"agent": graph.name, "agent_version": str(agent_version), "title": title, "row": told}
    return birth(book, row, checkpoint, EventKind.THREAD_STARTED, data)


def fork(
    book: Book,
    base: UUID,
    *,
    checkpoint: UUID,
    changes: Mapping[str, Any],
    actor: str,
    title: str = "",
    effects: str = "ask",
    reason: str = "",
    config: Mapping[str, Any] | None = None,
) -> UUID:
    """Begin a new thread from a checkpoint of another, which stays as it is; the new id."""
    check_texts(title=title)
    old, point = book.row(base), book.checkpoint(base, checkpoint).new
    whole = {**reading.config(book, base), **(config or {})}
    found = changed(book, base, checkpoint, changes, point.agent_version)
    first = NewCheckpoint(
        id=uuid7(),
        number=0,
        step=point.step,
        branch=0,
        branch_start=0,
        parent=checkpoint,
        parent_thread=base,
        parent_number=point.number,
        source="fork",
        nodes=(),
        next_nodes=tuple(point.next_nodes),
        schema_version=point.schema_version,
        agent_version=point.agent_version,
        created_by=actor,
        config=whole or None,
        **found,
    )
    row = Row(
        id=uuid7(),
        workspace=book.workspace,
        agent=old.agent,
        agent_version=point.agent_version,
        title=title or f"{old.title} (fork)"[:300],
        started_by=actor,
        created_at=book.now(),
        effects=effects,
        base=base,
        forked_from=checkpoint,
    )
    data = {
        "base": str(base),
        "base_checkpoint": str(checkpoint),
        "base_number": point.number,
        "base_chain": str(old.chain_id),
        "base_seq": old.last_seq,
        "base_hash": old.last_hash.hex(),
        "changed": sorted(changes),
        "reason": reason,
        "row": steering.told(queue="gatepost", effects=effects, title=row.title),
        **({"config": dict(config)} if config else {}),
    }
    return birth(book, row, first, EventKind.THREAD_FORKED, data)
