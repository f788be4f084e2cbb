"""News of children for their parent: who continues when one of them ends.

A trigger writes the news (gp_wake) in the statement that ends a child. The same process delivers
afterwards, in transactions of their own: no transaction touches two threads. What is lost with its
process the sweep delivers: all that is due for a parent together, with that parent's row locked.

A parent's row is left alone until what it waits for has come. What ends a child looks after that
is committed; the worker that leaves a parent looks after that is committed. The later of the two
sees the other, so none of them needs a counter or a lock.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from uuid import UUID

from django.db import connection, transaction

from checkpoints.postgres import reads
from checkpoints.postgres.guarded_rows import handle_rows, not_set_aside
from checkpoints.postgres.sql_files import sql_file
from checkpoints.records import Work
from checkpoints.states import EventKind, Status

from ..control import pause
from ..statement.moves import Move, NewEvent, perform
from .messages import deliver_messages
from .reach import take_pause

SQL = sql_file(__file__, not_set_aside=not_set_aside("children", "w.thread_id"))
BATCH = 200
# The sweep looks at a parent after this many seconds, if the worker that left it did not.
LOOK_AGAIN_SECONDS = 2.0


def await_children(
    work: Work, joins: Sequence[Sequence[UUID]], *, seconds: float | None = None
) -> None:
    """Note which children the thread is about to wait for, and until when; before it is left."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(SQL.brought, (work.thread,))
        cursor.execute(
            "UPDATE gp_child SET awaited = NULL WHERE parent = %s::uuid AND awaited IS NOT NULL "
            "AND NOT child_id = ANY(%s::uuid[])",
            (work.thread, [child for join in joins for child in join]),
        )
        for number, join in enumerate(joins, 1):
            cursor.execute(
                "UPDATE gp_child SET awaited = %s::smallint WHERE parent = %s::uuid "
                "AND child_id = ANY(%s::uuid[]) AND awaited IS DISTINCT FROM %s::smallint",
                (number, work.thread, list(join), number),
            )
        for kind, due in (("look", LOOK_AGAIN_SECONDS), ("deadline", seconds)):
            if due is None:
                cursor.execute(
                    "DELETE FROM gp_wake WHERE thread_id = %s::uuid AND kind = %s::varchar",
                    (work.thread, kind),
                )
            else:
                cursor.execute(
                    "INSERT INTO gp_wake (thread_id, kind, ref, due_at) VALUES (%s::uuid, "
                    "%s::varchar, '', clock_timestamp() + make_interval(secs => %s)) "
                    "ON CONFLICT (thread_id, kind, ref) DO UPDATE SET due_at = EXCLUDED.due_at",
                    (work.thread, kind, due),
                )


def waits_until(parent: UUID) -> datetime | None:
    """The time at which a parent stops to wait for its children; None where it has none."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT due_at FROM gp_wake WHERE thread_id = %s::uuid AND kind = 'deadline'",
            (parent,),
        )
        row: tuple[datetime] | None = cursor.fetchone()
    return None if row is None else row[0]


def bring_children(parents: Iterable[UUID]) -> None:
    """Note the children of parents that came with a capsule."""
    with connection.cursor() as cursor:
        for parent in parents:
            cursor.execute(SQL.brought, (parent,))


def deliver(parent: UUID, *, actor: str) -> bool:
    """Let held children begin for those that ended, and wake the parent if it can continue.

    Whether the parent was woken.
    """
    while _release_next(parent, actor):
        pass
    seen = _seen(parent)
    ((status, version, waits, has_come, is_late),) = reads.fetch(SQL.looked, (parent,))
    obsolete = [] if status == Status.RUNNING else ["look"]
    if is_late or not (waits or status == Status.RUNNING):
        obsolete.append("deadline")
    woken = False
    with transaction.atomic():
        if waits and (has_come or is_late):
            move = Move(
                parent,
                "th.status = 'waiting' AND th.waiting_on ?| array['joins', 'signals'] "
                "AND th.version = %s::bigint",
                (version,),
            )
            move.to_status(Status.QUEUED)
            move.express("waiting_on", "NULL")
            by = "children" if has_come else "deadline"
            move.events = [NewEvent(EventKind.THREAD_WOKEN, {"by": by}, actor)]
            woken = perform(move) is not None
        with connection.cursor() as cursor:
            # The parent at work keeps the reminder to look again: it may be about to wait.
            cursor.execute(
                "DELETE FROM gp_wake WHERE thread_id = %s::uuid AND (kind = ANY(%s::varchar[]) "
                "OR (kind = 'child' AND ref = ANY(%s::varchar[])))",
                (parent, obsolete, seen),
            )
    return woken


def _seen(parent: UUID) -> list[str]:
    """Children whose end is news; what comes later is delivered by the process that brings it."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT ref FROM gp_wake WHERE thread_id = %s::uuid AND kind = 'child' LIMIT %s",
            (parent, BATCH),
        )
        return [ref for (ref,) in cursor.fetchall()]


def _release_next(parent: UUID, actor: str) -> bool:
    """Let one held child begin, for one that has ended; False: none has ended.

    The thread's row first, as everywhere: its trigger writes gp_child.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            "DELETE FROM gp_wake WHERE ctid = (SELECT w.ctid FROM gp_wake w "
            "WHERE w.thread_id = %s::uuid AND w.kind = 'freed' LIMIT 1 FOR UPDATE SKIP LOCKED) "
            "RETURNING ref",
            (parent,),
        )
        free = cursor.fetchone()
        if free is None:
            return False
        while True:
            cursor.execute(SQL.next_held, (free[0],))
            held = cursor.fetchone()
            if held is None:
                return True
            begun = _begin(held[0], actor)
            cursor.execute(
                "UPDATE gp_child SET hold = %s::varchar WHERE child_id = %s::uuid "
                "AND hold = 'held'",
                ("released" if begun else "passed", held[0]),
            )
            if begun:
                return True


def _begin(child: UUID, actor: str) -> bool:
    """waiting -> queued of a held child, paused where its tree is; False: people let it begin."""
    move = Move(child, "th.status = 'waiting' AND th.waiting_on ->> 'kind' = 'limit'")
    move.to_status(Status.QUEUED)
    move.express("waiting_on", "NULL")
    move.events = [NewEvent(EventKind.THREAD_WOKEN, {"by": "limit"}, actor)]
    if perform(move) is None:
        return False
    if by := take_pause(child):
        pause(child, actor=by)
    return True


def deliver_due(*, actor: str, older_than_seconds: float = 1.0) -> int:
    """Deliver news that lies about since its bringer was lost; for how many parents.

    Each parent is one transaction; whatever stands in its way keeps no other one waiting.
    """
    with connection.cursor() as cursor:
        cursor.execute(SQL.parents_to_look_at, (older_than_seconds, BATCH))
        parents = [(parent, parent) for (parent,) in cursor.fetchall()]

    def deliver_all(row: tuple[UUID, UUID]) -> bool:
        deliver_messages(row[0])
        deliver(row[0], actor=actor)
        return True

    return handle_rows("children", parents, deliver_all)
