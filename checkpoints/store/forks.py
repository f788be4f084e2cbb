"""Fork threads: a new thread from any checkpoint of another, which is only read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import UUID

from django.db import transaction
from uuid_utils.compat import uuid7

from ..errors import NotAllowedNow, NotFound
from ..log import control_columns, fork_budgets
from ..postgres import reads as prepared
from ..queries.states import saved_digests
from ..state import deltas
from ..state.model_configuration import joined_config
from ..states import EventKind
from ..tables.columns import CHECKPOINT, THREAD
from .encrypted.keys import cipher_of_fork
from .encrypted.values import sealed
from .keyframes import keep_far_state, known_digests
from .starts import control_row, insert_thread, read_agent_version
from .statement.guards import CLOSED, check_texts
from .statement.moves import NewCheckpoint, first_checkpoint
from .statement.searchable import check as check_searchable
from .statement.searchable import column_at, remember_channels

_OF_BASE = THREAD.only(
    *("workspace_id", "agent", "queue", "title", "chain_id", "last_seq", "last_hash", "labels"),
    "erasure",
)
_OF_POINT = CHECKPOINT.only(
    *("number", "step", "next_nodes", "schema_version", "agent_version_id", "state_hash"),
    "state_bytes",
)
_BASE = (
    f"SELECT {_OF_BASE.select('th')}, {_OF_POINT.select('c')}, "
    "th.base IS NOT NULL OR c.branch_start > 0, (SELECT f.config::text FROM gp_checkpoint f "
    "WHERE f.thread_id = th.id AND f.number = 0), v.channels::text FROM gp_thread th "
    "JOIN gp_checkpoint c ON c.thread_id = th.id AND c.id = %s::uuid "
    "JOIN gp_agent_version v ON v.id = c.agent_version_id WHERE th.id = %s::uuid"
)


@dataclass(frozen=True, slots=True)
class Base:
    """A thread and one of its checkpoints, as a fork reads them.

    `is_far`: reading its state goes through other branches. `digests` are rows for `known_digests`.
    """

    id: UUID
    checkpoint: UUID
    thread: Mapping[str, Any]
    point: Mapping[str, Any]
    is_far: bool
    config: Mapping[str, Any]
    channels: Mapping[str, Any]
    digests: Sequence[Any]


def fork(
    base: UUID,
    *,
    checkpoint: UUID,
    changes: Mapping[str, Any],
    actor: str,
    title: str = "",
    effects: str = "ask",
    reason: str = "",
    config: Mapping[str, Any] | None = None,
    code: UUID | None = None,
    budget: Mapping[str, Any] | None = None,
    exchanged: Mapping[str, Any] | None = None,
) -> UUID:
    """Begin a new thread from any checkpoint of another; writes nothing to the base.

    1. Read the base and its checkpoint, and choose the agent version that continues.
    2. Make the first checkpoint: encrypt the changes, compute the hash of the changed state.
    3. Insert thread, checkpoint and event in one statement: three rows, however long the past is.
    4. After the commit cache the state, if reading it goes through many branches.

    `effects="ask"` opens a gate before the fork's first effect that has none. `config` names what
    differs from the base's; the fork's first checkpoint has all of it. `code` is the agent version
    that continues, by default that of the checkpoint. At its `budget` (`fork_budgets.checked`) the
    fork pauses. `exchanged` names the call for whose output it has another one. Returns the id.
    Raises NotFound, NotAllowedNow for an erased base, InvalidValue.
    """
    check_texts(title=title)
    limits = fork_budgets.checked(budget) if budget else {}
    source = _read_base(base, checkpoint, with_digests=bool(changes))
    version, queue = source.point["agent_version_id"], source.thread["queue"]
    if code is not None:
        version, queue = code, read_agent_version(code).queue
    check_searchable(version, changes)
    thread = uuid7()
    first = _fork_checkpoint(thread, source, changes, config=config or {}, actor=actor)
    title = title or f"{source.thread['title']} (fork)"[:300]
    control = {"queue": queue, "labels": deltas.decode(source.thread["labels"]), "effects": effects}
    data = _base_proof(source) | {"changed": sorted(changes), "reason": reason}
    data["row"] = control_columns.event_of(**control, title=title)
    options = {"config": config, "agent_version": code, "budget": limits, "exchanged": exchanged}
    data |= {name: _plain(value) for name, value in options.items() if value}
    row = _row(source, control, version=version, title=title, actor=actor)
    row["searchable"] = column_at(base, checkpoint, version=version, delta=first.delta)
    kind = EventKind.THREAD_FORKED
    insert_thread(thread=thread, checkpoint=first, kind=kind, data=data, row=row)
    if source.is_far:
        # After the commit and apart: the fork exists whether or not its cache can be written.
        transaction.on_commit(partial(keep_far_state, thread, first.id, 0), robust=True)
    return thread


def _read_base(base: UUID, checkpoint: UUID, *, with_digests: bool) -> Base:
    """Read both in one round trip; raises NotFound, and NotAllowedNow for an erased thread."""
    requests: list[prepared.Query] = [(_BASE, (checkpoint, base))]
    if with_digests:
        requests.append(saved_digests.digests_query(base, checkpoint))
    result, *digests = prepared.fetch_all(*requests)
    if not result:
        raise NotFound("There is no such checkpoint in this thread.")
    *values, is_far, config, channels = result[0]
    thread, point = _OF_BASE.row(values[: len(_OF_BASE)]), _OF_POINT.row(values[len(_OF_BASE) :])
    if thread["erasure"] is not None:
        raise NotAllowedNow(CLOSED)
    channels = deltas.decode(channels)
    remember_channels(point["agent_version_id"], channels)
    return Base(
        id=base,
        checkpoint=checkpoint,
        thread=thread,
        point=point,
        is_far=is_far,
        config=deltas.decode(config) if config else {},
        channels=channels,
        digests=digests,
    )


def _fork_checkpoint(
    thread: UUID,
    source: Base,
    changes: Mapping[str, Any],
    *,
    config: Mapping[str, Any],
    actor: str,
) -> NewCheckpoint:
    """Make the first checkpoint; writes a key for the thread if a changed channel is encrypted."""
    workspace, point = source.thread["workspace_id"], source.point
    cipher = partial(cipher_of_fork, thread, source.id, workspace=workspace)
    delta = deltas.delta_of_changes(sealed(source.channels, changes, cipher))
    # Without changes the state is the base's: its hash is known, and nothing has to be read.
    state_hash, state_bytes, digests = point["state_hash"], point["state_bytes"], None
    if changes:
        digests = known_digests(source.id, source.checkpoint, *source.digests)
        digests.follow(delta)
        state_hash, state_bytes = digests.root, digests.size
    return first_checkpoint(
        step=point["step"],
        parent=source.checkpoint,
        parent_thread=source.id,
        parent_number=point["number"],
        source="fork",
        next_nodes=tuple(deltas.decode(point["next_nodes"])),
        delta=delta,
        state_hash=state_hash,
        state_bytes=state_bytes,
        schema_version=point["schema_version"],
        agent_version=point["agent_version_id"],
        created_by=actor,
        config=joined_config(source.config, config) or None,
        digests=digests,
    )


def _base_proof(source: Base) -> dict[str, Any]:
    """Name the base's chain and its end, so that the fork's first event proves the shared past."""
    return {
        "base": str(source.id),
        "base_chain": str(source.thread["chain_id"]),
        "base_seq": source.thread["last_seq"],
        "base_hash": source.thread["last_hash"].hex(),
        "base_checkpoint": str(source.checkpoint),
        "base_number": source.point["number"],
    }


def _row(
    source: Base, control: Mapping[str, Any], *, version: UUID, title: str, actor: str
) -> dict[str, Any]:
    return control_row(control) | {
        "workspace_id": source.thread["workspace_id"],
        "agent_version_id": version,
        "agent": source.thread["agent"],
        "title": title,
        "started_by": actor,
        "base": source.id,
        "forked_from": source.checkpoint,
    }


def _plain(value: Mapping[str, Any] | UUID) -> Any:
    return str(value) if isinstance(value, UUID) else dict(value)
