"""Threads that are stuck: news for those who want it.

And threads that an agent elsewhere could take, so that a webhook can start one.
"""

from __future__ import annotations

from django.db import connection

from checkpoints import store
from checkpoints.agent_versions import EXTERNAL_QUEUE
from checkpoints.breakers.rule import STOPPED_BY
from checkpoints.postgres.sql_files import sql_file

SQL = sql_file(__file__, external=EXTERNAL_QUEUE, stopped_by=STOPPED_BY)
BATCH = 200


def announce_stuck_threads(limit: int = BATCH, *, turns: store.StuckTurns | None = None) -> int:
    """Note which threads are stuck, and put those that somebody wants to hear of in the outbox.

    Answers how many were put there. `turns` remembers how far the look at waiting threads is.
    """
    store.note_stuck(turns)
    with connection.cursor() as cursor:
        cursor.execute(SQL.announce, (limit,))
        return int(cursor.rowcount)


def announce_waiting_work(limit: int = BATCH) -> int:
    """Put each thread that an agent elsewhere could take in the outbox, once per wait; how many."""
    with connection.cursor() as cursor:
        cursor.execute(SQL.announce_waiting, (limit,))
        return int(cursor.rowcount)
