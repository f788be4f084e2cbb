"""The row of a thread in a capsule, compared with the log that came with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from ..states import EventKind
from .events import Log
from .thread_row import LoggedRow

# Events whose actor counts as the one who started the thread.
_STARTING = (EventKind.THREAD_FORKED, EventKind.THREAD_IMPORTED)


def exported_row_differs(thread: UUID, workspace: UUID, row: Mapping[str, Any]) -> str:
    """Name the first column of an exported row that the thread's log contradicts, "" if none.

    `row` has parameters by column, as `capsules.rows.from_json` reads them. The log is read up to
    the row's `last_seq`, and has to be verified already: only its rows are followed here.
    """
    log = Log("thread", thread, workspace, row["chain_id"], row["last_seq"], row["last_hash"], 0)
    logged, started_by = LoggedRow(), ""
    for batch in log.batches():
        for event in batch:
            if event.seq == 1 or event.kind in _STARTING:
                started_by = event.actor
            logged.follow(event, None)
    if started_by != row["started_by"]:
        return "who started it"
    return logged.contradicts(row)
