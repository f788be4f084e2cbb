"""What makes any lost signal or message harmless: due timers, expired leases, crash loops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from django.db import OperationalError, connection

from checkpoints.agent_versions import EXTERNAL_QUEUE
from checkpoints.breakers.rule import STOPPED_BY
from checkpoints.limits import CRASHES_ALLOWED, SILENT_ALLOWED, lease_seconds
from checkpoints.postgres.guarded_rows import LOCK_WAIT, handle_rows, is_busy, not_set_aside
from checkpoints.postgres.named_rows import fetch_named
from checkpoints.postgres.server_start import UP_FOR
from checkpoints.postgres.sql_files import sql_file
from checkpoints.queries.installation.faults import losses
from checkpoints.queries.installation.live_code import SERVED, WORKER_ALIVE_SECONDS
from checkpoints.states import EventKind, Status

from ..clock_steps import AHEAD, CLOCK_SLACK_SECONDS
from ..statement.moves import Move, NewEvent, perform
from ..steps import release

SQL = sql_file(__file__, served=SERVED, external=EXTERNAL_QUEUE, stopped_by=STOPPED_BY, ahead=AHEAD)
BATCH = 200
# Another worker's leases may last up to this many times as long as ours while settings change.
TERMS_OF_OTHERS = 5.0


def claim_duty(name: str, *, owner: str, seconds: float) -> bool:
    """Take or keep a fleet-wide duty for `seconds`; one owner at a time.

    Also True while somebody holds the duty's row and does not let go: two owners do no harm, and
    without one nothing is done at all.
    """
    try:
        with connection.cursor() as cursor:
            cursor.execute(
                # One round trip; `s.v` is read so that the planner cannot leave the CTE out.
                "WITH s AS MATERIALIZED (SELECT set_config('lock_timeout', %s::text, true) AS v) "
                "INSERT INTO gp_duty (name, owner, until) SELECT %s::varchar, %s::varchar, "
                "clock_timestamp() + make_interval(secs => %s) FROM s WHERE s.v IS NOT NULL "
                "ON CONFLICT (name) DO UPDATE SET owner = EXCLUDED.owner, until = EXCLUDED.until "
                "WHERE gp_duty.owner = EXCLUDED.owner OR gp_duty.until < clock_timestamp() "
                # Nobody takes it for longer: the clock stepped back since.
                "OR gp_duty.until > clock_timestamp() + make_interval(secs => %s)",
                (LOCK_WAIT, name, owner, seconds, seconds + CLOCK_SLACK_SECONDS),
            )
            return bool(cursor.rowcount)
    except OperationalError as error:
        if is_busy(error):
            return True
        raise


def forget_duty(name: str, *, owner: str) -> None:
    """Give a duty back now, so that another worker need not wait for its end."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE gp_duty SET until = clock_timestamp() WHERE name = %s::varchar "
            "AND owner = %s::varchar",
            (name, owner),
        )


def end_duty(name: str) -> bool:
    """End a duty of any owner; False where nobody has it."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE gp_duty SET until = clock_timestamp() WHERE name = %s::varchar "
            "AND until > clock_timestamp()",
            (name,),
        )
        return bool(cursor.rowcount)


def is_anything_due() -> bool:
    """Answer False if a sweep would find no thread, child or erasure to work on."""
    with connection.cursor() as cursor:
        cursor.execute(SQL.is_anything_due)
        return bool(cursor.fetchone()[0])


def shorten_leases() -> int:
    """Let a lease that ends beyond its term end with it: the clock stepped back; how many.

    Its holder renews it long before, if it lives. So nobody who lives loses a lease to a step, nor
    to a worker with a shorter term.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE gp_thread SET lease_until = clock_timestamp() + make_interval(secs => %s) "
            "WHERE id IN (SELECT th.id FROM gp_thread th "
            "WHERE th.status IN ('running', 'rolling_back') AND th.lease_token IS NOT NULL "
            # Those who work elsewhere choose their own terms.
            f"AND th.queue <> '{EXTERNAL_QUEUE}' "
            "AND th.lease_until > clock_timestamp() + make_interval(secs => %s) "
            "LIMIT %s FOR NO KEY UPDATE OF th SKIP LOCKED)",
            (lease_seconds(), TERMS_OF_OTHERS * lease_seconds() + CLOCK_SLACK_SECONDS, BATCH),
        )
        return int(cursor.rowcount)


def wake_sleepers(*, owner: str) -> int:
    """sleeping -> queued for each thread whose time has come; how many."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT th.id, th.id FROM gp_thread th WHERE th.status = 'sleeping' "
            f"AND th.wake_at <= clock_timestamp() AND {not_set_aside('woken', 'th.id')} "
            "ORDER BY th.wake_at LIMIT %s FOR NO KEY UPDATE OF th SKIP LOCKED",
            (BATCH,),
        )
        due: list[tuple[UUID, UUID]] = cursor.fetchall()

    return handle_rows("woken", due, lambda row: _wake(row[0], owner))


def wake_sleepers_in(workspaces: Sequence[UUID], *, owner: str) -> int:
    """`wake_sleepers` in these workspaces alone, with nothing set aside; how many."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT id FROM gp_thread WHERE workspace_id = ANY(%s::uuid[]) "
            "AND status = 'sleeping' AND wake_at <= clock_timestamp() ORDER BY wake_at",
            (list(workspaces),),
        )
        due = cursor.fetchall()
    return sum(_wake(thread, owner) for (thread,) in due)


def _wake(thread: UUID, owner: str) -> bool:
    move = Move(thread, "th.status = 'sleeping' AND th.wake_at <= clock_timestamp()")
    move.to_status(Status.QUEUED)
    move.express("wake_at", "NULL")
    move.events = [NewEvent(EventKind.THREAD_WOKEN, {"by": "timer"}, owner)]
    return perform(move) is not None


def stranded_threads(*, queued_for_seconds: float) -> list[tuple[UUID, str]]:
    """(thread, queue) that need a doorbell: queued too long, lease expired, undo without worker.

    Those that lost their worker come first: queued ones of a queue that nobody serves would hide
    them. A pinned thread whose code no live worker of its queue has is left out: ringing for it
    helps nobody, and thousands of them would hide the others. So is one that a breaker stops.
    """
    values = (WORKER_ALIVE_SECONDS, queued_for_seconds, CRASHES_ALLOWED - 1, BATCH)
    return [(row.id, row.queue) for row in fetch_named(SQL.stranded, values)]


# How the watchdog's own loss begins, and what helps against it.
SILENT: Final = "gave no sign of life for "
HELD: Final = (
    "Code that holds Python's interpreter, such as a regular expression, a solver or a large sort, "
    "belongs into a process of its own (subprocess in an activity), or give it more time: "
    "GATEPOST_LEASE_SECONDS. "
)


def silent_why(seconds: float) -> str:
    """Explain that our own watchdog ended the slot of a step; continues after "it"."""
    return f"{SILENT}{seconds:g} s, the limit, so Gatepost ended its process"


def lost_reason(causes: Sequence[tuple[str, str]] = ()) -> str:
    """Explain why a thread whose worker was lost repeatedly is parked; (node, why), last first."""
    silent = [why for _, why in causes[:SILENT_ALLOWED] if why.startswith(SILENT)]
    times = SILENT_ALLOWED if len(silent) == SILENT_ALLOWED else CRASHES_ALLOWED
    message = f"The worker was lost {times} times in a row at this step"
    if causes:
        node, why = causes[0]
        causes = causes[:times]
        always = len(causes) == times and len(set(causes)) == 1
        each = " each time" if always else " the last time it was known"
        message += f": at {node!r} it {why}{each}" if node else f": it {why}{each}"
    cure = HELD if silent else ""
    return f"{message}. {cure}Look at the last events, then retry, edit or roll back."


def park_crash_loops(*, owner: str) -> int:
    """running or rolling_back -> attention when the lease expired for the third time."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT th.id, th.id FROM gp_thread th WHERE th.status IN ('running', 'rolling_back') "
            "AND th.lease_until < clock_timestamp() AND th.crash_count >= %s "
            f"AND {not_set_aside('parked', 'th.id')} "
            "LIMIT %s FOR NO KEY UPDATE OF th SKIP LOCKED",
            (CRASHES_ALLOWED - 1, BATCH),
        )
        looping: list[tuple[UUID, UUID]] = cursor.fetchall()

    def park(row: tuple[UUID, UUID]) -> bool:
        thread = row[0]
        # Compared again: the locks of the SELECT above ended with it, and the holder may have
        # renewed its lease since.
        move = Move(
            thread,
            "th.status IN ('running', 'rolling_back') AND th.lease_until < clock_timestamp() "
            f"AND th.crash_count >= %s AND {UP_FOR}",
            (CRASHES_ALLOWED - 1, lease_seconds()),
        )
        reason = lost_reason(losses(thread)[:CRASHES_ALLOWED])
        move.to_status(Status.ATTENTION, reason=reason)
        move.express("crash_count", str(CRASHES_ALLOWED))
        release(move)
        move.events = [NewEvent(EventKind.THREAD_PARKED, {"reason": reason}, owner)]
        return perform(move) is not None

    return handle_rows("parked", looping, park)
