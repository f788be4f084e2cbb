"""Work that continuing from the record has spared: a restart from the input would do it again.

It is counted once per fault (a worker that was lost, a failed thread that is retried) as all that
is recorded on the way to the head then, and stands in the event that ends the fault. See ADR 0021.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from ..limits import CRASHES_ALLOWED
from ..postgres.named_rows import fetch_named
from ..postgres.sql_files import sql_file
from ..states import EventKind
from ..tables.readers import record_of
from ..views import SavedRow, ThreadRow

# The index gp_event_rare holds these kinds and those of `figures` (migration lost_steps).
RESUMING = (EventKind.LEASE_TAKEN_OVER, EventKind.THREAD_RETRIED)
# Of a workspace those of its newest threads are added up, at most this many.
NEWEST = 2_000
NOTHING = SavedRow(0, 0, 0, 0, "0", 0)


def _faults(where: str, order: str) -> str:
    """The newest of each kind come in the order of the index, and so do all of them together."""
    return " UNION ALL ".join(
        f"(SELECT thread_id, seq, data -> 'saved' AS s FROM gp_event WHERE kind = '{kind}' "
        f"AND workspace_id = %(workspace)s::uuid {where} ORDER BY {order} LIMIT %(newest)s)"
        for kind in RESUMING
    )


SQL = sql_file(
    __file__,
    crashes_allowed=str(CRASHES_ALLOWED),
    faults_of_thread=_faults("AND thread_id = %(thread)s::uuid", "seq DESC"),
    faults_of_workspace=_faults("", "thread_id DESC, seq DESC"),
)


def work_before_takeover(thread_id: UUID) -> SavedRow | None:
    """All that is recorded on the way to the head; None unless the lease has expired.

    Left out: what was abandoned by a rollback, what failed, and results that were taken over from
    another thread. Milliseconds are those of the calls.
    """
    return _recorded_work(SQL.before_takeover, thread_id)


def work_before_retry(thread_id: UUID) -> SavedRow | None:
    """The same; None unless the thread failed or stopped after a crash loop."""
    return _recorded_work(SQL.before_retry, thread_id)


def _recorded_work(sql: str, thread_id: UUID) -> SavedRow | None:
    (row,) = fetch_named(sql, (thread_id,))
    return record_of(SavedRow, row) if row.is_faulty else None


def as_json(work: SavedRow | None) -> dict[str, Any]:
    """The saved work as the event that ends a fault records it; {} where nothing was recorded."""
    if work is None or not work.calls:
        return {}
    unpriced = {"unpriced_calls": work.unpriced_calls} if work.unpriced_calls else {}
    return {
        "saved": {
            "calls": work.calls,
            "model_calls": work.model_calls,
            "tokens": work.tokens,
            "cost": work.cost,
            "milliseconds": work.milliseconds,
            **unpriced,
        }
    }


def saved(thread: ThreadRow) -> SavedRow:
    """Add up the work a thread did not repeat after faults; zero before it first resumed."""
    if thread.fence < 2:
        return NOTHING
    query = {"workspace": thread.workspace, "thread": thread.id, "newest": NEWEST}
    return record_of(SavedRow, *fetch_named(SQL.saved_of_thread, query))


def fleet_saved(*, workspace: UUID) -> SavedRow:
    """The same of all threads of a workspace, of the newest ones where there were many faults."""
    query = {"workspace": workspace, "newest": NEWEST}
    return record_of(SavedRow, *fetch_named(SQL.saved_of_workspace, query))
