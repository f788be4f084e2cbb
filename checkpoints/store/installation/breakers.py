"""Breakers: stop the threads of a selection, and release them again, some first or all.

A breaker is one row that every claim of a thread looks at. Threads stay where they are, so there is
nothing to restore: what a person has paused is paused before, meanwhile and afterwards. Only
threads at work are touched, by a wish that their worker reads with what it writes anyway.

A claim that began before the trip's commit can still take a thread; it is marked with the next
round of the sweep. So nothing of a stopped thread begins later than one round after a claim's
longest wait for a lock.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import partial
from typing import Any, Final
from uuid import UUID

import structlog
from django.db import DatabaseError, InterfaceError, connection, transaction
from uuid_utils.compat import uuid7

from checkpoints.breakers.rule import (
    ORDINAL,
    SELECTED,
    STOPPED_BY,
    STOPS,
    TAKEABLE,
    BreakerRow,
)
from checkpoints.errors import InvalidValue, NotAllowedNow
from checkpoints.log.recorded import RowChange
from checkpoints.postgres.sql_files import sql_file
from checkpoints.queries.installation import breakers as queries
from checkpoints.records import STOP
from checkpoints.signals import Store, board_changed, thread_queued
from checkpoints.state import deltas
from checkpoints.states import WorkspaceEventKind as K

from ..statement.moves import NewEvent
from .workspaces import append, lock_workspaces

log = structlog.get_logger("gatepost.breaker")
SQL = sql_file(
    __file__,
    stop=STOP,
    stops=STOPS,
    ordinal=ORDINAL,
    selected=SELECTED,
    takeable=TAKEABLE,
    stopped_by=STOPPED_BY,
)
ORDINALS: Final = 1 << 32
OPEN_MAX: Final = 50
RUNG_AT_ONCE: Final = 100
# Seconds before the rounds that a trip itself repeats for rows that were locked.
ROUNDS: Final = (0.0, 0.05, 0.2, 0.5)


def trip(workspace: UUID, selection: Mapping[str, Any], *, reason: str, actor: str) -> BreakerRow:
    """Open a breaker: from its commit on nobody takes a thread of the selection.

    Threads at work are given back at their next boundary. Returns the breaker.
    """
    ident: UUID = uuid7()
    body = deltas.canonical(dict(selection)).decode()
    with transaction.atomic():
        lock_workspaces([workspace])
        if sum(row.is_open for row in queries.breakers(workspace)) >= OPEN_MAX:
            raise InvalidValue("selection", f"{OPEN_MAX} breakers are open already")
        with connection.cursor() as cursor:
            cursor.execute(SQL.open, (ident, workspace, body, reason, actor))
        data = {"breaker": str(ident), "selection": dict(selection), "reason": reason}
        event = NewEvent(K.BREAKER_TRIPPED, data, actor)
        append(workspace, [event], RowChange({"gp_breaker": [ident]}))
        mark_stopped()
        transaction.on_commit(_mark_the_rest, robust=True)
        _announce(workspace)
        return queries.breaker(ident, workspace=workspace)


def release(
    breaker_id: UUID,
    *,
    workspace: UUID,
    reason: str,
    actor: str,
    number: int | None = None,
    share: float | None = None,
) -> tuple[BreakerRow, int]:
    """Release all threads and close the breaker, or only some and leave it open.

    `number` of those that a worker would take now, or a `share` of them (above 0, below 1): always
    those of the lowest ordinals, so later threads of these ordinals continue as well. Returns the
    breaker and how many threads continue now. NotAllowedNow where it is closed, or a part would be
    empty.
    """
    with transaction.atomic():
        lock_workspaces([workspace])
        row = queries.breaker(breaker_id, workspace=workspace)
        if not row.is_open:
            raise NotAllowedNow("This breaker has been released already.")
        n, ordinal = _first(breaker_id, ORDINALS)
        everything = number is None and share is None
        if share is not None:
            number = max(1, round(n * share))
        if number is not None:
            n, ordinal = _first(breaker_id, number)
            if not n:
                raise NotAllowedNow(
                    "No stopped thread can continue now. Release the rest to close the breaker."
                )
        with connection.cursor() as cursor:
            cursor.execute(
                SQL.release, (row.released_to if everything else ordinal, actor, everything, row.id)
            )
        data = {
            "breaker": str(breaker_id),
            "selection": dict(row.selection),
            "released": n,
            "rest": everything,
            "reason": reason,
        }
        changed = ("released_to", "releases", "released_at", "released_by", "closed_at")
        append(
            workspace,
            [NewEvent(K.BREAKER_RELEASED, data, actor)],
            RowChange({"gp_breaker": [breaker_id]}, columns=changed),
        )
        transaction.on_commit(partial(_ring, breaker_id), robust=True)
        _announce(workspace)
        return queries.breaker(breaker_id, workspace=workspace), n


def mark_stopped() -> int:
    """Ask the workers of stopped threads to give them back; how many were not asked before."""
    with connection.cursor() as cursor:
        cursor.execute(SQL.mark)
        return int(cursor.rowcount)


def _mark_the_rest() -> None:
    """After the commit, when claims look: threads that were taken or locked meanwhile."""
    for pause in ROUNDS:
        time.sleep(pause)
        try:
            mark_stopped()
            with connection.cursor() as cursor:
                cursor.execute(SQL.unmarked)
                if not cursor.fetchone()[0]:
                    return
        except (DatabaseError, InterfaceError) as error:
            log.warning("breaker.mark_failed", error=str(error).strip())  # the sweep continues
            return


def _first(breaker_id: UUID, number: int) -> tuple[int, int]:
    with connection.cursor() as cursor:
        cursor.execute(SQL.first, (breaker_id, number))
        n, ordinal = cursor.fetchone()
    return int(n), int(ordinal)


def _ring(breaker_id: UUID) -> None:
    """Announce some of the threads that continue; slots that answer claim the others."""
    with connection.cursor() as cursor:
        cursor.execute(SQL.going, (breaker_id, RUNG_AT_ONCE))
        going = cursor.fetchall()
    for thread, queue in going:
        thread_queued.send_robust(sender=Store, thread_id=thread, queue=queue)


def _announce(workspace: UUID) -> None:
    payload = {"sender": Store, "workspace": workspace}
    transaction.on_commit(partial(board_changed.send_robust, **payload), robust=True)
