"""The feed of committed events across threads, for what is exported as spans."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from checkpoints.log.traces import TraceContext, trace_of
from checkpoints.postgres.named_rows import fetch_named
from checkpoints.postgres.sql_files import sql_file
from checkpoints.state import deltas
from checkpoints.states import EventKind
from checkpoints.tables.readers import record_of

from ..rows import decoded, rows

SQL = sql_file(__file__)
# Events whose data names an activity.
NAMING: Final = (
    EventKind.ACTIVITY_FINISHED,
    EventKind.ACTIVITY_FAILED,
    EventKind.MODEL_ANSWERED,
    EventKind.MODEL_FAILED,
    EventKind.EFFECT_STARTED,
    EventKind.EFFECT_FINISHED,
    EventKind.EFFECT_FAILED,
)
_NAMING = [str(kind) for kind in NAMING]


@dataclass(frozen=True, slots=True)
class FeedCursor:
    """An event in the order of the feed."""

    xid: int
    thread: UUID
    seq: int


@dataclass(frozen=True, slots=True)
class FeedEvent:
    """An event with what a span needs besides; `data` is None for kinds not asked for.

    `began` is when the step of the event began, `ended_before` when the thread last ended before.
    `tokens`, `cost` and `steps` are the thread's as they are now.
    """

    xid: int
    thread: UUID
    seq: int
    kind: str
    actor: str
    at: datetime
    data: Any
    workspace: UUID
    imported: bool
    chain: UUID
    agent: str
    created_at: datetime
    tokens: int
    cost: str
    steps: int
    version: str
    parent_chain: UUID | None
    root_chain: UUID
    traceparent: str | None
    activity_kind: str | None
    revision: int | None
    started_at: datetime | None
    usage: Any
    branch: int | None
    began: datetime | None
    ended_before: datetime | None

    @property
    def cursor(self) -> FeedCursor:
        """The position of the event in the feed."""
        return FeedCursor(self.xid, self.thread, self.seq)


@dataclass(frozen=True, slots=True)
class ExportFigures:
    """Spans sent and dropped since the export began, and how far it is behind."""

    sent: int
    dropped: int
    lag_seconds: float


def events_after_cursor(cursor: FeedCursor, *, kinds: Sequence[str], limit: int) -> list[FeedEvent]:
    """The next events of all threads; none of a transaction while an older one is open."""
    result = fetch_named(
        SQL.feed,
        ([str(k) for k in kinds], cursor.xid, cursor.thread, cursor.seq, limit, _NAMING),
    )
    return [record_of(FeedEvent, row, data=decoded, usage=decoded) for row in result]


def trace_of_thread(thread: UUID) -> TraceContext:
    """The trace of a thread: that of the first thread of its family tree."""
    ((chain, data),) = rows(
        "SELECT r.chain_id, f.data::text FROM gp_thread th "
        "JOIN gp_thread r ON r.id = coalesce(th.root, th.id) "
        "LEFT JOIN gp_event f ON f.thread_id = r.id AND f.seq = 1 WHERE th.id = %s::uuid",
        (thread,),
    )
    first = deltas.decode(data) if data else None
    return trace_of(chain, first.get("traceparent") if isinstance(first, dict) else None)


def export_figures(name: str) -> ExportFigures | None:
    """Figures of the export; None where there never was one."""
    result = fetch_named(SQL.figures, (name,))
    return record_of(ExportFigures, result[0]) if result else None
