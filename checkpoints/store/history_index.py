"""The index of the history: filled behind the log, in batches, in the order of the feed.

A step writes nothing for it. The sweep fills it, and a question adds what is missing. An
event is in it once its transaction and all older ones have ended.
"""

from __future__ import annotations

import time
from typing import Any, Final

from django.db import connection, transaction

from checkpoints.log.remains import Part
from checkpoints.postgres.sql_files import sql_file
from checkpoints.queries.history import passages
from checkpoints.queries.history.passages import Position

SQL: Final = sql_file(__file__)
BATCH: Final = 500
SWEEP_SECONDS: Final = 0.5
# Words of a thread, and questions about it: (how many rows, bytes).
ERASED_PART: Final = Part("history_index", SQL.erase, SQL.count, {})


def index_history(*, seconds: float = SWEEP_SECONDS, batch: int = BATCH) -> int:
    """Add events that are not in the index, for at most `seconds`; the number that was read.

    Where somebody else is at it, nothing is added.
    """
    until = time.monotonic() + seconds
    total = 0
    # Asked for each batch, and at rest that alone: what an event records is read with its joins.
    while (position := _position()).is_behind and (n := _add(position, batch)):
        total += n
        if time.monotonic() > until:
            break
    return total


def rebuild_index() -> None:
    """Empty the index; `index_history` makes it anew, and nothing of the log is touched."""
    _position()
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(SQL.restart)
        cursor.execute(SQL.share)
        cursor.execute(SQL.forget)


def _position() -> Any:
    position = passages.indexed_position()
    if position is None or position.is_ahead:
        with connection.cursor() as cursor:
            cursor.execute(SQL.begin)
        position = passages.indexed_position()
    return position


def _add(position: Any, batch: int) -> int:
    """Add the events behind a position; 0 where there are none, or somebody else was quicker."""
    # Outside of the transaction: files may lie in a storage elsewhere.
    former = Position(position.xid, position.thread_id, position.seq)
    events, end = passages.after(former, limit=batch)
    if end is None:
        return 0
    at: dict[str, Any] = {"xid": former.xid, "thread": former.thread, "seq": former.seq}
    new: dict[str, Any] = {"xid": end.xid, "thread": end.thread, "seq": end.seq}
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(SQL.lock, at)
        if cursor.fetchone() is None:
            return 0
        cursor.execute(SQL.share)
        if len(events) == batch:
            cursor.execute(SQL.in_bulk)
        cursor.execute(
            SQL.add,
            {
                "threads": [event.thread for event in events],
                "seqs": [event.seq for event in events],
                "kinds": [event.kind for event in events],
                "times": [event.at for event in events],
                "bodies": [event.words for event in events],
            },
        )
        cursor.execute(SQL.move, new)
    return max(1, len(events))  # events of closed threads only move the position
