"""What people want of a whole tree reaches one generation after the other.

The verb on a thread and a row of news (gp_wake) for each of its children are one transaction. A
worker carries out the news of a child, and in the same transaction writes that of its children. So
no transaction holds many threads, and what is lost with a process is taken up by the next sweep.

A thread that is asked to pause works on to the end of its step, and may start children meanwhile:
it is looked at again when it has stopped. One that hands over passes the verb to its successor.
A child that a limit holds back stays so: a pause is kept for it until it may begin.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any
from uuid import UUID

from django.db import connection

from checkpoints.errors import LeaseLost
from checkpoints.postgres.guarded_rows import not_set_aside
from checkpoints.postgres.sql_files import sql_file
from checkpoints.records import NewActivity, Work

from ..activities import recorded
from ..statement.moves import Insert, perform
from ..statement.text import RowSql
from ..steps import SEEN, leased, update_work

KIND = "reach"
# The second look at a thread that was asked to pause, when it stands.
PAUSE, STOOD = "pause", "stood"
BATCH = 200
_NEWS = RowSql(
    "gp_wake",
    {"thread_id": "%s::uuid", "kind": f"'{KIND}'", "ref": "%s::varchar"},
    "ON CONFLICT DO NOTHING",
)
# While a thread works on towards its pause, neither the second look nor a resume is due; a pause
# is not while a limit holds the thread back.
_DUE = """NOT (w.ref LIKE 'pause %%' AND th.status = 'waiting'
  AND coalesce(th.waiting_on ->> 'kind', '') = 'limit'
  OR w.ref ~ '^(stood|resume) ' AND th.status = 'running' AND th.wish = 'pause'
  OR w.ref LIKE 'stood %%' AND th.pause_at <> ''
  AND th.status NOT IN ('paused', 'succeeded', 'failed', 'cancelled'))"""
SQL = sql_file(__file__, due=_DUE, not_set_aside=not_set_aside("reached", "w.thread_id"))


def reach_children(
    thread: UUID, verb: str, *, actor: str, only: Collection[UUID] | None = None
) -> int:
    """Let a verb reach the unfinished threads next below a thread, or some of them; how many.

    Children that have ended are passed by: what they started is reached in their place.
    """
    with connection.cursor() as cursor:
        cursor.execute(SQL.reach_children, (thread, *[_listed(only)] * 2, KIND, _ref(verb, actor)))
        reached = int(cursor.rowcount)
        if verb == PAUSE:
            cursor.execute(SQL.look_again, (KIND, _ref(STOOD, actor), thread))
        return reached


def cancel_child(work: Work, activity: NewActivity, *, child: UUID, events: Any = ()) -> None:
    """Record that a thread wants a child cancelled, with the news for it; raises LeaseLost."""
    row, event = recorded(work.owner, activity, result=None)
    move = leased(work)
    move.inserts = [row, Insert(_NEWS, (child, f"cancel thread:{work.thread}"))]
    move.events = [*events, event]
    move.returning = SEEN
    seen = perform(move)
    if seen is None:
        raise LeaseLost(thread=work.thread)
    update_work(work, seen)


def reach_one(thread: UUID, verb: str, *, actor: str) -> None:
    """Let a verb reach one thread."""
    with connection.cursor() as cursor:
        cursor.execute(SQL.reach_one, (thread, KIND, _ref(verb, actor)))


def move_pause(successor: UUID) -> tuple[str, tuple[UUID]]:
    """SQL and values that let a pause of a thread reach its successor, for the move that ends it.

    A thread that asked for it in its last step wants the work to stop.
    """
    return SQL.move_pause, (successor,)


def reached() -> list[tuple[UUID, UUID, str]]:
    """(thread, thread, what reaches it) of some threads that a verb has to reach, oldest first."""
    with connection.cursor() as cursor:
        cursor.execute(SQL.reached, (KIND, BATCH))
        return list(cursor.fetchall())


def forget_reach(thread: UUID, ref: str) -> int:
    """Take news away that is carried out in this transaction; its number, 0: not due, or gone."""
    with connection.cursor() as cursor:
        cursor.execute(SQL.forget_reach, (thread, KIND, ref))
        gone = cursor.fetchone()
        return 0 if gone is None else int(gone[0])


def take_pause(thread: UUID, *, before: int | None = None) -> str:
    """Take away a pause that is kept for a thread; who wanted it, empty for nobody.

    `before`: only one that was asked for before the news of that number.
    """
    with connection.cursor() as cursor:
        cursor.execute(SQL.take_pause, (thread, KIND, before, before))
        return max((ref.partition(" ")[2] for (ref,) in cursor.fetchall()), default="")


def _ref(verb: str, actor: str) -> str:
    return f"{verb} {actor}"[:200]


def _listed(ids: Collection[UUID] | None) -> list[UUID] | None:
    return None if ids is None else list(ids)
