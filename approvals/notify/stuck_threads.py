"""Threads that stand still though nobody is asked and nothing is due: news for whoever wants it.

And threads that an agent elsewhere could take, so that a webhook can start one.
"""

from __future__ import annotations

from django.conf import settings
from django.db import connection

from checkpoints.agent_versions import EXTERNAL_QUEUE
from checkpoints.breakers.rule import STOPPED_BY
from checkpoints.postgres.sql_files import sql_file

SQL = sql_file(__file__, external=EXTERNAL_QUEUE, stopped_by=STOPPED_BY)
BATCH = 200


def announce_stuck_threads(limit: int = BATCH) -> int:
    """Put each thread without an event for GATEPOST_STUCK_SECONDS in the outbox; how many.

    One that a breaker stops is not stuck.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            SQL.announce, (float(getattr(settings, "GATEPOST_STUCK_SECONDS", 900)), limit)
        )
        return int(cursor.rowcount)


def announce_waiting_work(limit: int = BATCH) -> int:
    """Put each thread that an agent elsewhere could take in the outbox, once per wait; how many."""
    with connection.cursor() as cursor:
        cursor.execute(SQL.announce_waiting, (limit,))
        return int(cursor.rowcount)
