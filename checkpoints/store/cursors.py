"""Cursors: where a long activity stands, kept while it works, under its worker's lease."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import deltas
from ..errors import LeaseLost
from ..records import NewActivity, Work
from .activities import _COLUMNS, upsert, written_as
from .statement import Columns
from .steps import _SEEN, _see, leased
from .writing import Insert, NewEvent, perform

_KEPT = Columns(
    "gp_activity",
    _COLUMNS
    | {
        "finished_at": "NULL::timestamptz",
        "cursor": "%s::jsonb",
        "progress": "%s::jsonb",
    },
    # A call that tells no numbers leaves those of the one before.
    upsert(cursor="EXCLUDED.cursor", progress="coalesce(EXCLUDED.progress, gp_activity.progress)"),
)


def keep_cursor(
    work: Work,
    activity: NewActivity,
    *,
    cursor: bytes,
    progress: Any = None,
    moved_on: bool = False,
    events: Sequence[NewEvent] = (),
) -> None:
    """Commit where a working activity stands: canonical JSON, given back when it is called again.

    The row is a started one until the result takes its place. `moved_on` forgives crashes, as a
    record does. Raises LeaseLost: a fenced worker's cursor is refused.
    """
    row, _ = written_as(activity, "started")
    shown = None if progress is None else deltas.canonical(progress).decode()
    move = leased(work)
    # The row of the thread is written in any case: who takes it over waits, or is waited for.
    move.express("crash_count", "0" if moved_on else "th.crash_count")
    move.inserts = [Insert(_KEPT, (*row.params, cursor.decode(), shown))]
    move.events = list(events)
    move.returning = _SEEN
    seen = perform(move)
    if seen is None:
        raise LeaseLost(thread=work.thread)
    if moved_on:
        work.crash_count = 0
    _see(work, seen)
