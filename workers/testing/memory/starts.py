"""How a thread begins in memory: with an input, or forked from any checkpoint of another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from uuid_utils.compat import uuid7

from checkpoints.log import control_columns, fork_budgets
from checkpoints.payloads.base import LIMITS
from checkpoints.state import deltas
from checkpoints.state.channels import Digests
from checkpoints.state.model_configuration import deployed, joined_config, with_texts
from checkpoints.states import EventKind, Status
from checkpoints.store.statement.guards import check_texts
from checkpoints.store.statement.moves import first_checkpoint
from checkpoints.store.tree import counterfactuals
from checkpoints.views import ActivityRow
from workers.authoring.graph import Graph

from . import reads as reading
from .once import entering
from .people import changed, insert_thread
from .tables import MemoryTables, Row, written


@dataclass(frozen=True, slots=True)
class Origin:
    """The parent of a child; `waits`: the child begins when a sibling has ended."""

    id: UUID
    parent: Row
    waits: bool = False
    at_most: int = 0

    @property
    def columns(self) -> dict[str, Any]:
        """The columns of the child's row."""
        parent = self.parent
        lineage = {"parent": parent.id, "root": parent.root or parent.id, "depth": parent.depth + 1}
        if not self.waits:
            return lineage
        waiting_on = {"kind": "limit", "at_most": self.at_most}
        return lineage | {"status": Status.WAITING, "waiting_on": written(waiting_on)}


def start(
    tables: MemoryTables,
    graph: Graph,
    *,
    agent_version: UUID,
    input: Mapping[str, Any],
    actor: str,
    title: str = "",
    pause_at: str = "",
    effects: str = "run",
    config: Mapping[str, Any] | None = None,
    origin: Origin | None = None,
) -> UUID:
    """Begin a thread with the input over the agent's defaults; its id."""
    check_texts(title=title, pause_at=pause_at)
    channels = graph.describe_channels()
    state = {c: spec["default"] for c, spec in channels.items() if "default" in spec} | dict(input)
    deltas.check(state)
    tables.reducers[agent_version] = graph.reducers
    tables.limits[agent_version] = LIMITS[graph.payloads]
    digests = Digests.of(state, graph.reducers)
    checkpoint = first_checkpoint(
        source="input",
        next_nodes=graph.entry,
        delta={"set": state},
        state_hash=digests.root,
        state_bytes=digests.size,
        schema_version=graph.schema_version,
        agent_version=agent_version,
        created_by=actor,
        config=joined_config(memory_config(graph), config or {}) or None,
    )
    own = {} if origin is None else origin.columns
    row = Row(
        id=uuid7() if origin is None else origin.id,
        workspace=tables.workspace,
        agent=graph.name,
        agent_version=agent_version,
        title=title or graph.name,
        automatic_title=not title,
        started_by=actor,
        created_at=tables.now(),
        effects=effects,
        pause_at=pause_at,
        **own,
    )
    lineage = {name: own[name] for name in ("parent", "root", "depth") if name in own}
    payload = control_columns.event_of(
        queue=graph.queue,
        pause_at=pause_at,
        effects=effects,
        automatic_title=not title,
        **lineage,
    )
    data = {
        "agent": graph.name,
        "agent_version": str(agent_version),
        "title": title,
        "row": payload,
    }
    return insert_thread(tables, row, checkpoint, EventKind.THREAD_STARTED, data)


def memory_config(graph: Graph) -> dict[str, Any]:
    """The configuration that the graph declares; a play keeps the texts, and reads no settings."""
    described = graph.describe_graph()
    return with_texts(deployed(described, None), described.get("prompts", {}).values())


def fork(
    tables: MemoryTables,
    base: UUID,
    *,
    checkpoint: UUID,
    changes: Mapping[str, Any],
    actor: str,
    title: str = "",
    effects: str = "ask",
    reason: str = "",
    config: Mapping[str, Any] | None = None,
    budget: Mapping[str, Any] | None = None,
    exchanged: Mapping[str, Any] | None = None,
) -> UUID:
    """Begin a new thread from a checkpoint of another, which stays as it is; the new id."""
    check_texts(title=title)
    limits = fork_budgets.checked(budget) if budget else {}
    old, point = tables.row(base), tables.checkpoint(base, checkpoint).new
    whole = joined_config(reading.config(tables, base), config or {})
    result = changed(tables, base, checkpoint, changes, point.agent_version)
    first = first_checkpoint(
        step=point.step,
        parent=checkpoint,
        parent_thread=base,
        parent_number=point.number,
        source="fork",
        next_nodes=tuple(point.next_nodes),
        schema_version=point.schema_version,
        agent_version=point.agent_version,
        created_by=actor,
        config=whole or None,
        **result,
    )
    row = Row(
        id=uuid7(),
        workspace=tables.workspace,
        agent=old.agent,
        agent_version=point.agent_version,
        title=title or f"{old.title} (fork)"[:300],
        started_by=actor,
        created_at=tables.now(),
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
        "row": control_columns.event_of(queue="gatepost", effects=effects, title=row.title),
        **({"config": dict(config)} if config else {}),
        **({"budget": limits} if limits else {}),
        **({"exchanged": dict(exchanged)} if exchanged else {}),
    }
    if limits:
        tables.budgets[row.id] = limits, limits
    return insert_thread(tables, row, first, EventKind.THREAD_FORKED, data)


def fork_with_output(
    tables: MemoryTables,
    call: ActivityRow,
    *,
    output: Any,
    checkpoint: UUID,
    actor: str,
    **more: Any,
) -> UUID:
    """Begin a fork in which a recorded call has another output; `more` as for `fork`."""
    exchanged = counterfactuals.named(call)
    thread = fork(
        tables, call.thread, checkpoint=checkpoint, changes={}, actor=actor, exchanged=exchanged,
        **more,
    )  # fmt: skip
    beside = [
        a
        for a in reading.activities(tables, call.thread)
        if (a.branch, a.step) == (call.branch, call.step)
    ]
    rows = counterfactuals.written(call, output, beside, actor=actor)
    entries = [entering(tables, thread, activity, insert) for activity, insert, _ in rows]

    def enter(at: datetime) -> None:
        for entry in entries:
            entry(at)

    tables.move(thread, events=[event for _, _, event in rows], also=enter)
    return thread
