"""What an agent can have had a value from: recorded outputs and what people entered before a time.

Calls and bytes are bounded, whatever the length of the thread.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from ...postgres.named_rows import fetch_named
from ...postgres.sql_files import sql_file
from ...tables.readers import decoded, record_of
from ..past import BRANCHES

SQL = sql_file(__file__, branches=BRANCHES)
CALLS_READ: Final = 2_000  # the newest ones
BYTES_READ: Final = 512 * 1024  # of all arguments and results together, as they are stored
OUTPUT_BYTES: Final = 128 * 1024  # of one call
ENTRIES: Final = 50
_BRANCHES: Final = 20
_ROWS: Final = 3_000  # looked at, of each branch


@dataclass(frozen=True, slots=True)
class OutputRow:
    """A finished call with its arguments and result as JSON text; None where not `readable`.

    `exchanged`: a person typed the result in a counterfactual.
    """

    id: UUID
    thread: UUID
    tool: str
    node: str
    step: int
    kind: str
    finished_at: datetime
    args: str | None
    result: str | None
    readable: bool
    exchanged: bool


@dataclass(frozen=True, slots=True)
class EntryRow:
    """A checkpoint that a person wrote; `delta` is None where it is too large to be read.

    `channels` are those of the agent where it is a thread's first input.
    """

    id: UUID
    thread: UUID
    number: int
    source: str
    actor: str
    parent: UUID | None
    parent_thread: UUID | None
    imported: bool
    delta: dict[str, Any] | None
    channels: dict[str, Any] | None
    bytes_before: int


@dataclass(frozen=True, slots=True)
class RecordedRow:
    """The place of a call in the log of its thread: its event, and the checkpoint after it."""

    id: UUID
    seq: int | None
    kind: str | None
    actor: str | None
    checkpoint: int | None


def newest_before(thread_id: UUID, *, branch: int, at: datetime) -> UUID | None:
    """The newest checkpoint of a branch at a time; None where there is none."""
    result = fetch_named(SQL.before, (thread_id, branch, at))
    return next((row.id for row in result), None)


def outputs_before(thread_id: UUID, checkpoint_id: UUID, *, at: datetime) -> list[OutputRow]:
    """Finished calls on the way to a checkpoint and of the step after it, up to a time.

    Oldest first, at most CALLS_READ of the newest; no answers of models.
    """
    sizes = (OUTPUT_BYTES, OUTPUT_BYTES, BYTES_READ)
    params = (thread_id, checkpoint_id, *sizes, _BRANCHES, _ROWS, at, CALLS_READ)
    result = fetch_named(SQL.outputs_before, params)
    return [record_of(OutputRow, row) for row in result]


def entered_before(thread_id: UUID, checkpoint_id: UUID) -> list[EntryRow]:
    """Checkpoints on the way to one that people wrote, newest first, at most ENTRIES."""
    params = (thread_id, checkpoint_id, OUTPUT_BYTES, _BRANCHES, ENTRIES)
    result = fetch_named(SQL.entered_before, params)
    return [record_of(EntryRow, row, delta=decoded, channels=decoded) for row in result]


def recorded_at(calls: Sequence[OutputRow]) -> dict[UUID, RecordedRow]:
    """Find each of these calls in the log of its thread; one query."""
    if not calls:
        return {}
    params = ([c.id for c in calls], [c.thread for c in calls], [c.finished_at for c in calls])
    return {row.id: record_of(RecordedRow, row) for row in fetch_named(SQL.recorded_at, params)}
