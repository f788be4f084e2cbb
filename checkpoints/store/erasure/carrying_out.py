"""Carry out approved erasures: one transaction a thread, then the files, then the end of it.

A process that dies in between leaves an approved erasure, which the sweep of any worker continues.
Each thread's transaction blanks its content in every part, hashes what is left, and appends the
event that records both. Nothing of a thread goes without its event.
"""

from __future__ import annotations

import time
from functools import partial
from typing import Any, Final
from uuid import UUID

import structlog
from django.db import OperationalError, connection, transaction

from checkpoints.errors import ContentAway
from checkpoints.log.recorded import RowChange
from checkpoints.log.remains import parts, remains_of
from checkpoints.postgres.guarded_rows import bound_waits, handle_each, is_busy, not_set_aside
from checkpoints.queries.erasures import requests as queries
from checkpoints.queries.erasures.requests import ErasureRow
from checkpoints.signals import announce_board, thread_erased
from checkpoints.states import WorkspaceEventKind as K

from ..installation.memories import forget_thread
from ..installation.workspaces import append, lock_workspaces
from ..statement.moves import NewEvent
from . import files

log = structlog.get_logger("gatepost.erasure")
AT_ONCE: Final = 50
SWEEP_SECONDS: Final = 5.0
WITH_THREAD: Final = "It was erased with the thread that it came from."


def carry_out(ident: UUID, *, workspace: UUID, seconds: float | None = None) -> ErasureRow:
    """Erase the threads of an approved erasure, for at most `seconds`; the row as it is then.

    What is left of it is done by the sweep.
    """
    until = None if seconds is None else time.monotonic() + seconds
    row = queries.erasure(ident, workspace=workspace)
    try:
        while row.state == "approved" and (threads := _threads_left(ident)):
            for thread in threads:
                erase_thread(row, thread)
                if until is not None and time.monotonic() > until:
                    return row
        if row.state == "approved":
            _finish(row)
    except ContentAway as error:
        log.warning("erasure.storage_away", erasure=str(ident), error=error.message)
        return row
    except OperationalError as error:
        if not is_busy(error):
            raise
        return row  # somebody holds a row of it
    return queries.erasure(ident, workspace=workspace)


def carry_on(*, seconds: float = SWEEP_SECONDS) -> int:
    """Continue erasures that are approved and not done; how many there were."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT r.id, r.thread_id, r.workspace_id FROM gp_erasure r WHERE r.state = 'approved' "
            f"AND {not_set_aside('erased', 'r.id')} LIMIT 20"
        )
        due: list[tuple[UUID, UUID, UUID]] = cursor.fetchall()

    def continue_erasure(row: tuple[UUID, UUID | None, UUID]) -> int:
        ident, _, workspace = row
        carry_out(ident, workspace=workspace, seconds=seconds)
        return 1

    return handle_each("erased", due, continue_erasure)


def erase_thread(row: ErasureRow, thread: UUID) -> None:
    """Erase the content of one thread of an approved erasure, in one transaction; once."""
    with transaction.atomic(), connection.cursor() as cursor:
        bound_waits()
        lock_workspaces([row.workspace])
        cursor.execute(
            "SELECT th.last_seq, encode(th.last_hash, 'hex') FROM gp_thread th "
            "WHERE th.id = %s::uuid AND th.erasure = %s::uuid AND NOT EXISTS (SELECT 1 "
            "FROM gp_erased d WHERE d.id = th.id) FOR UPDATE OF th",
            (thread, row.id),
        )
        end = cursor.fetchone()
        if end is None:
            return
        files.note_files(row.id, thread, row.workspace)
        actor = row.decided_by or row.requested_by
        n_rows, n_bytes = forget_thread(
            thread, workspace=row.workspace, reason=WITH_THREAD, actor=actor
        )
        for part in parts():
            cursor.execute(part.erase, (thread,))
            n, size = cursor.fetchone()
            n_rows, n_bytes = n_rows + n, n_bytes + size
        remains = remains_of(thread)
        cursor.execute(
            "INSERT INTO gp_erased (id, workspace_id, erasure_id, remains, n_rows, n_bytes) "
            "VALUES (%s::uuid, %s::uuid, %s::uuid, %s::varchar, %s::bigint, %s::bigint)",
            (thread, row.workspace, row.id, remains, n_rows, n_bytes),
        )
        data: dict[str, Any] = {
            "thread": str(thread),
            "erasure": str(row.id),
            "requested_by": row.requested_by,
            "approved_by": row.decided_by,
            "reason": row.reason,
            "last_seq": end[0],
            "last_hash": end[1],
            "remains": remains,
            **({"rule": str(row.rule)} if row.rule else {}),
        }
        event = NewEvent(K.THREAD_ERASED, data, actor)
        append(row.workspace, [event], RowChange({"gp_erased": [thread]}))
        announce = partial(
            thread_erased.send_robust, sender=None, thread_id=thread, workspace=row.workspace
        )
        transaction.on_commit(announce, robust=True)


def _threads_left(ident: UUID) -> list[UUID]:
    """At most AT_ONCE of the threads that are left, forks before the thread they were forked from.

    A fork begins with that thread's content: in the other order it would be reported as damaged
    until its turn came.
    """
    is_left = "NOT EXISTS (SELECT 1 FROM gp_erased d WHERE d.id = {}.id)".format
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT th.id FROM gp_thread th WHERE th.erasure = %s::uuid AND {is_left('th')} "
            "AND NOT EXISTS (SELECT 1 FROM gp_thread f WHERE f.base = th.id "
            f"AND f.erasure = th.erasure AND {is_left('f')}) ORDER BY th.id LIMIT %s",
            (ident, AT_ONCE),
        )
        return [row[0] for row in cursor.fetchall()]


def _finish(row: ErasureRow) -> None:
    """Delete the files, then note the end; ContentAway where the storage does not answer."""
    if not files.remove_files(row.id):
        log.warning("erasure.storage_away", erasure=str(row.id))
        return
    with transaction.atomic(), connection.cursor() as cursor:
        bound_waits()
        lock_workspaces([row.workspace])
        # A process that read a state before the threads were closed may have cached it since.
        cursor.execute(
            "DELETE FROM gp_keyframe WHERE thread_id IN (SELECT id FROM gp_erased "
            "WHERE erasure_id = %s::uuid)",
            (row.id,),
        )
        n_files = files.count_removed(row.id)
        cursor.execute(
            "UPDATE gp_erasure r SET state = 'done', finished_at = clock_timestamp(), "
            "n_files = %s::integer, (n_rows, n_bytes) = (SELECT coalesce(sum(d.n_rows), 0), "
            "coalesce(sum(d.n_bytes), 0) FROM gp_erased d WHERE d.erasure_id = r.id) "
            "WHERE r.id = %s::uuid AND r.state = 'approved'",
            (n_files, row.id),
        )
        if not cursor.rowcount:
            return
        data = {"erasure": str(row.id), "thread": str(row.thread), "threads": row.n_threads}
        columns = ("state", "finished_at", "n_rows", "n_bytes", "n_files")
        event = NewEvent(K.ERASURE_FINISHED, data, row.decided_by or row.requested_by)
        append(row.workspace, [event], RowChange({"gp_erasure": [row.id]}, columns=columns))
        announce_board(row.workspace)
