"""Notes in PostgreSQL about the hot store: threads of which it may hold steps, and up to which.

A lease notes its stream before its first append and drops the note when all is drained. Meanwhile
the heartbeat reports the newest checkpoint that the hot store has acknowledged, so that a loss of
the hot store is seen even when the worker is lost with it.
"""

from __future__ import annotations

from uuid import UUID

from django.db import connection

from ..errors import LeaseLost
from ..records import Work


def note_stream(work: Work) -> None:
    """Note that the holder of a lease is about to append; raises LeaseLost.

    The thread is locked: a change that takes it away afterwards finds the note.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO gp_hot_stream (thread_id, workspace_id, token, number) "
            "SELECT th.id, th.workspace_id, th.lease_token, th.number FROM gp_thread th "
            "WHERE th.id = %s::uuid AND th.lease_token = %s::uuid FOR NO KEY UPDATE OF th "
            "ON CONFLICT (thread_id) DO UPDATE SET token = excluded.token, "
            "number = excluded.number, reported_at = excluded.reported_at, is_cut_off = false",
            (work.thread, work.token),
        )
        if not cursor.rowcount:
            raise LeaseLost(thread=work.thread)


def report_buffered(thread: UUID, *, token: UUID, number: int) -> None:
    """Note the newest checkpoint that the hot store has acknowledged to this lease.

    Without a flush: it says what may be missing, and no work rests on it.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            # `s.v` is compared so that the planner cannot leave the CTE out.
            "WITH s AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true) AS v) "
            "UPDATE gp_hot_stream h SET number = %s::integer, reported_at = clock_timestamp() "
            "FROM s WHERE h.thread_id = %s::uuid AND h.token = %s::uuid AND s.v = 'off'",
            (number, thread, token),
        )


def cut_off_stream(thread: UUID) -> None:
    """Note that what the hot store still holds of a thread is to be dropped."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE gp_hot_stream SET is_cut_off = true WHERE thread_id = %s::uuid", (thread,)
        )


def forget_stream(thread: UUID, *, token: UUID) -> None:
    """Drop the note of a lease whose stream is drained."""
    with connection.cursor() as cursor:
        cursor.execute(
            "DELETE FROM gp_hot_stream WHERE thread_id = %s::uuid AND token = %s::uuid",
            (thread, token),
        )
