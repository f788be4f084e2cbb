"""Handle each due row of a sweep by itself, so that none of them keeps the others waiting.

A row that somebody else holds is passed over until the next sweep. A row whose handling fails is
set aside: named in the table gp_set_aside, and tried again later, each time after a longer pause.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final
from uuid import UUID

import structlog
from django.db import DatabaseError, InterfaceError, connection, transaction

from ..limits import SET_ASIDE_SECONDS_MAX

log = structlog.get_logger("gatepost.sweep")

# A row inside the lock (an approval) is waited for so long, its thread not at all.
LOCK_WAIT: Final = "200ms"
# Locked by somebody else, or each waited for the other: the next sweep tries again.
_BUSY: Final = frozenset({"55P03", "40P01"})
# A row that was set aside and is no longer due is forgotten after this time.
_FORGET_SECONDS: Final = 2 * SET_ASIDE_SECONDS_MAX


def not_set_aside(part: str, row: str) -> str:
    """SQL: the row of that id (an expression) is not set aside in this part of the sweep."""
    return (
        f"NOT EXISTS (SELECT 1 FROM gp_set_aside aside WHERE aside.part = '{part}' "
        f"AND aside.row_id = {row} AND aside.next_at > clock_timestamp() "
        # A clock that stepped back may not keep it aside for longer than the longest pause.
        f"AND aside.next_at <= clock_timestamp() + interval '{SET_ASIDE_SECONDS_MAX:.0f} seconds')"
    )


def handle_rows[*More](
    part: str,
    due: Sequence[tuple[UUID, UUID, *More]],
    handle: Callable[[tuple[UUID, UUID, *More]], bool],
) -> int:
    """Handle each row, (its id, its thread, ...), in a transaction that holds its thread's row.

    Returns how many were handled. Raises what the database raises once it no longer answers.
    """
    failed_before = _failed_before(part) if due else {}
    done = 0
    for row in due:
        try:
            with transaction.atomic():
                if _lock_if_free(row[1]):
                    done += handle(row)
        except Exception as error:
            set_aside(part, row[0], thread=row[1], error=error)
        else:
            if row[0] in failed_before:
                _bring_back(part, row[0])
    return done


def handle_each[*More](
    part: str,
    due: Sequence[tuple[UUID, UUID | None, *More]],
    handle: Callable[[tuple[UUID, UUID | None, *More]], int],
) -> int:
    """Handle each row, (its id, a thread that it is about, ...), in transactions of its own.

    One that is set aside is passed over until its pause is over. `handle` calls `bound_waits` where
    it waits for locks. Returns the sum of what it returns; raises what the database raises once it
    no longer answers.
    """
    failed_before = _failed_before(part) if due else {}
    passed = {row for row, rests in failed_before.items() if rests}
    done = 0
    for row in due:
        if row[0] in passed:
            continue
        try:
            done += handle(row)
        except Exception as error:
            set_aside(part, row[0], thread=row[1], error=error)
            passed.add(row[0])
        else:
            if row[0] in failed_before:
                _bring_back(part, row[0])
    return done


def bound_waits() -> None:
    """Wait for no lock longer than a sweep may, until the end of the transaction."""
    with connection.cursor() as cursor:
        # set_config and not SET LOCAL, which takes no parameters.
        cursor.execute("SELECT set_config('lock_timeout', %s::text, true)", (LOCK_WAIT,))


def _lock_if_free(thread: UUID) -> bool:
    """Lock the thread's row if nobody holds it; bound the wait for every lock that follows."""
    with connection.cursor() as cursor:
        cursor.execute(
            # One round trip for both; `s.v` is read so that the planner cannot leave the CTE out.
            "WITH s AS MATERIALIZED (SELECT set_config('lock_timeout', %s::text, true) AS v) "
            "SELECT 1 FROM gp_thread th, s WHERE th.id = %s::uuid AND s.v IS NOT NULL "
            "FOR UPDATE OF th SKIP LOCKED",
            (LOCK_WAIT, thread),
        )
        return cursor.fetchone() is not None


def _failed_before(part: str) -> dict[UUID, bool]:
    """{row: whether its pause lasts} of the rows that are set aside in this part."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT row_id, NOT {not_set_aside(part, 'gp_set_aside.row_id')} FROM gp_set_aside "
            "WHERE part = %s::varchar",
            (part,),
        )
        return dict(cursor.fetchall())


def is_busy(error: Exception) -> bool:
    """Answer True if the database could not give a lock in time."""
    return getattr(error.__cause__, "sqlstate", None) in _BUSY


def set_aside(part: str, row: UUID, *, thread: UUID | None, error: Exception) -> None:
    """Note that a row failed, outside of its transaction; one that was only locked stays as it was.

    Raises `error` again where it is the database that no longer answers.
    """
    if is_busy(error):
        return
    if isinstance(error, DatabaseError | InterfaceError) and not connection.is_usable():
        raise error
    message: Any = f"{type(error).__name__}: {error}".strip().splitlines()[0][:500]
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO gp_set_aside (part, row_id, thread_id, error, attempts, next_at) VALUES "
            "(%s::varchar, %s::uuid, %s::uuid, %s::text, 1, clock_timestamp() + interval '2 s') "
            "ON CONFLICT (part, row_id) DO UPDATE SET error = EXCLUDED.error, "
            "attempts = gp_set_aside.attempts + 1, next_at = clock_timestamp() + make_interval("
            "secs => least(%s::float8, 2 * 2 ^ least(gp_set_aside.attempts, 20))) "
            "RETURNING attempts, extract(epoch FROM next_at - clock_timestamp())::float8",
            (part, row, thread, message.replace("\0", ""), SET_ASIDE_SECONDS_MAX),
        )
        attempts, pause = cursor.fetchone()
    log.error(
        "sweep.row_set_aside",
        part=part,
        row=str(row),
        thread=str(thread),
        attempts=attempts,
        again_in=round(pause, 1),
        error=message,
        exc_info=error,
    )


def _bring_back(part: str, row: UUID) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "DELETE FROM gp_set_aside WHERE part = %s::varchar AND row_id = %s::uuid", (part, row)
        )


def forget_rows_set_aside() -> int:
    """Forget rows that were set aside and came due no more; how many."""
    with connection.cursor() as cursor:
        cursor.execute(
            "DELETE FROM gp_set_aside "
            "WHERE next_at < clock_timestamp() - make_interval(secs => %s)",
            (_FORGET_SECONDS,),
        )
        return int(cursor.rowcount)
