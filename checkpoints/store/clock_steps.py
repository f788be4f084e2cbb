"""Waits that began before the database's clock stepped back: each ends with its own term.

What was written before a step lies in the future after it, which nothing else does: so a row says
by itself that it began before. How long it has lasted since is known from the step, where it was
noticed, and else counts from now.
"""

from __future__ import annotations

from typing import Final

from django.db import connection, transaction
from uuid_utils.compat import uuid7

BATCH: Final = 200
# What two looks at the clock may differ by without a step.
CLOCK_SLACK_SECONDS: Final = 1.0
AHEAD: Final = f"> clock_timestamp() + interval '{CLOCK_SLACK_SECONDS} s'"

# One probe of an index per workspace, however many threads sleep.
_SLEEPERS = f"""
UPDATE gp_thread SET wake_at = clock_timestamp() + (wake_at - status_since),
  status_since = clock_timestamp()
WHERE id IN (SELECT th.id FROM gp_workspace w CROSS JOIN LATERAL (
    SELECT id FROM gp_thread WHERE workspace_id = w.id AND status = 'sleeping'
    AND status_since {AHEAD} ORDER BY status_since DESC LIMIT %s) x
  JOIN gp_thread th ON th.id = x.id LIMIT %s FOR NO KEY UPDATE OF th SKIP LOCKED)
"""
# An undo that failed is tried again by then; sooner does no harm, and once only.
_ROLLBACKS = f"""
UPDATE gp_thread SET wake_at = clock_timestamp() WHERE id IN (
  SELECT th.id FROM gp_thread th WHERE th.status = 'rolling_back' AND th.lease_token IS NULL
  AND th.wake_at > clock_timestamp() AND th.last_at {AHEAD}
  LIMIT %s FOR NO KEY UPDATE OF th SKIP LOCKED)
"""


def note_clock_step(seconds: float, *, by: str) -> None:
    """Record that the database's clock jumped by this many seconds (below 0: back).

    The times until which services asked us to wait move along: they are of the same clock.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO gp_clock_step (id, seconds, noticed_by) "
            "VALUES (%s::uuid, %s::float8, %s::varchar)",
            (uuid7(), seconds, by),
        )
        cursor.execute(
            "UPDATE gp_backoff SET until = until + make_interval(secs => %s) "
            "WHERE until > clock_timestamp()",
            (seconds,),
        )


def bring_back_sleepers() -> int:
    """Let threads that began to sleep before a step wake within their own term; how many."""
    with connection.cursor() as cursor:
        cursor.execute(_SLEEPERS, (BATCH, BATCH))
        moved = int(cursor.rowcount)
        cursor.execute(_ROLLBACKS, (BATCH,))
        return moved + int(cursor.rowcount)


def is_over(set_at: str, until: str) -> str:
    """SQL: the time from one column to the other is over, whatever the clock did in between.

    A row from before a step that was noticed has lasted at least since that step.
    """
    return (
        f"({until} <= clock_timestamp() OR ({set_at} {AHEAD} AND EXISTS (SELECT 1 "
        "FROM gp_clock_step step WHERE step.seconds < 0 AND step.at <= clock_timestamp() "
        f"AND step.at + ({until} - {set_at}) <= clock_timestamp())))"
    )


def was_noticed() -> bool:
    """Answer True if a step back is on record."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT EXISTS (SELECT 1 FROM gp_clock_step WHERE seconds < 0)")
        return bool(cursor.fetchone()[0])
