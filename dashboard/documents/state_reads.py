"""A state as pages show it, or why it cannot be read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from checkpoints import queries
from checkpoints.errors import ContentAway, ContentErased, CorruptHistory, InvalidValue
from checkpoints.state import deltas
from checkpoints.views import AgentRow, CheckpointRow


@dataclass(frozen=True, slots=True)
class Unread:
    """The reason why a state could not be read, and when; `away`: a later try may succeed."""

    why: str
    at: datetime
    away: bool


@dataclass(frozen=True, slots=True)
class Read:
    """A state, or in its place why there is none to show."""

    state: dict[str, Any]
    unread: Unread | None = None


def read(thread_id: UUID, checkpoint_id: UUID, version: AgentRow) -> Read:
    """The state at a checkpoint; raises NotFound, and nothing where only contents are missing."""
    try:
        state = queries.state_at(thread_id, checkpoint_id)
    except (ContentAway, ContentErased, CorruptHistory) as error:
        away = isinstance(error, ContentAway)
        return Read({}, Unread(error.message, datetime.now(UTC), away))
    return Read(_ordered(state, version.schema))


def read_step(checkpoint: CheckpointRow, version: AgentRow) -> tuple[Read, Read]:
    """The states before a checkpoint and at it, from one read: what did not change is the same.

    The state before the first of all is {}. Where the step cannot be applied to a state that was
    read, both are read for themselves.
    """
    if checkpoint.parent is None or checkpoint.parent_thread is None:
        return Read({}), read(checkpoint.thread, checkpoint.id, version)
    before = read(checkpoint.parent_thread, checkpoint.parent, version)
    if before.unread is None:
        try:
            (row,) = queries.deltas_from(checkpoint.thread, checkpoint.number, limit=1)
            state = deltas.apply(before.state, row.delta)
        except (ContentAway, ContentErased, InvalidValue):
            pass
        else:
            return before, Read(_ordered(state, version.schema))
    return before, read(checkpoint.thread, checkpoint.id, version)


def unreadable(why: str) -> Read:
    """The replacement for a state whose checkpoint is missing."""
    return Read({}, Unread(why, datetime.now(UTC), away=False))


def _ordered(state: dict[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """The same with its channels in the author's order, which the database does not keep."""
    order = {name: i for i, name in enumerate(schema.get("x-order") or ())}
    return dict(sorted(state.items(), key=lambda item: order.get(item[0], len(order))))
