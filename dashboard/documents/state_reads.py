"""A state as pages show it, or why it cannot be read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

from checkpoints import queries
from checkpoints.errors import ContentAway, ContentErased, CorruptHistory, InvalidValue
from checkpoints.state import deltas
from checkpoints.views import AgentRow, CheckpointRow

from . import state_outlines

_UNREAD: Final = (ContentAway, ContentErased, CorruptHistory)


@dataclass(frozen=True, slots=True)
class Unread:
    """The reason why a state could not be read, and when; `away`: a later try may succeed."""

    why: str
    at: datetime
    away: bool


@dataclass(frozen=True, slots=True)
class Read:
    """A state, or in its place why there is none to show.

    Of a channel in `files` only the ends are as they are, see `state_outlines`: these are the files
    that the whole of it refers to.
    """

    state: dict[str, Any]
    unread: Unread | None = None
    files: Mapping[str, Sequence[dict[str, Any]]] = field(default_factory=dict)

    @property
    def with_files(self) -> dict[str, Any]:
        """The state, with those files in the place of such a channel."""
        return self.state | {name: list(refs) for name, refs in self.files.items()}


def read(thread_id: UUID, checkpoint_id: UUID, version: AgentRow) -> Read:
    """The state at a checkpoint; raises NotFound, and nothing where only contents are missing."""
    try:
        state = queries.state_at(thread_id, checkpoint_id)
    except _UNREAD as error:
        away = isinstance(error, ContentAway)
        return Read({}, Unread(error.message, datetime.now(UTC), away))
    return Read(_ordered(state, version.schema))


def read_step(
    row: CheckpointRow, version: AgentRow, *, outlined: bool = False
) -> tuple[Read, Read]:
    """The states before a checkpoint and at it, from one read: what did not change is the same.

    The state before the first of all is {}. Where the step cannot be applied to a state that was
    read, both are read for themselves. `outlined`: of long lists the ends are enough.
    """
    if row.parent is None or row.parent_thread is None:
        return Read({}), read(row.thread, row.id, version)
    outlined = outlined and row.parent_thread == row.thread
    outlined = outlined and row.state_bytes >= state_outlines.LEAST
    schema = version.schema
    with suppress(*_UNREAD, InvalidValue):
        if outlined and (outlines := state_outlines.step(row)):
            one, other = (Read(_ordered(o.state, schema), files=o.files) for o in outlines)
            return one, other
    before = read(row.parent_thread, row.parent, version)
    if before.unread is None:
        with suppress(*_UNREAD, InvalidValue):
            (step,) = queries.deltas_from(row.thread, row.number, limit=1)
            state = deltas.apply(before.state, step.delta)
            if outlined:
                state_outlines.remember(row, before.state)
            return before, Read(_ordered(state, schema))
    return before, read(row.thread, row.id, version)


def unreadable(why: str) -> Read:
    """The replacement for a state whose checkpoint is missing."""
    return Read({}, Unread(why, datetime.now(UTC), away=False))


def _ordered(state: dict[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """The same with its channels in the author's order, which the database does not keep."""
    order = {name: i for i, name in enumerate(schema.get("x-order") or ())}
    return dict(sorted(state.items(), key=lambda item: order.get(item[0], len(order))))
