"""Messages from one thread to another: recorded with the sender, received once, in one order.

The sender's record and a row of news (gp_wake) are one statement. A second transaction takes that
row away and appends the message to the log of the receiver: a killed process leaves it, and
the sweep delivers it. The receiver's log is the order, the same for all who write and read.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db import connection, transaction

from checkpoints.errors import LeaseLost
from checkpoints.records import NewActivity, Work
from checkpoints.state import deltas
from checkpoints.states import TAKES_INPUT, EventKind

from ..activities import recorded
from ..inputs import receive
from ..statement.guards import in_statuses
from ..statement.moves import Insert, Move, NewEvent, perform
from ..statement.text import RowSql
from ..steps import SEEN, leased, update_work

KIND = "message"
_NEWS = RowSql(
    "gp_wake",
    {"thread_id": "%s::uuid", "kind": f"'{KIND}'", "ref": "%s::varchar"},
    "ON CONFLICT DO NOTHING",
)


def send_message(
    work: Work, activity: NewActivity, *, to: UUID, result: Any, events: Any = ()
) -> None:
    """Record that a message was sent and that it is to be received; raises LeaseLost."""
    row, event = recorded(work.owner, activity, result=result)
    move = leased(work)
    move.inserts = [row, Insert(_NEWS, (to, str(activity.id)))]
    move.events = [*events, event]
    move.returning = SEEN
    seen = perform(move)
    if seen is None:
        raise LeaseLost(thread=work.thread)
    update_work(work, seen)
    deliver_messages(to)


def deliver_messages(thread: UUID) -> int:
    """Append the messages that were sent to a thread and not received yet; how many."""
    done = 0
    while _deliver_one(thread):
        done += 1
    return done


def _deliver_one(thread: UUID) -> bool:
    with transaction.atomic(), connection.cursor() as cursor:
        # The second one waits: it would overtake a message that is being delivered.
        cursor.execute("SELECT 1 FROM gp_thread WHERE id = %s::uuid FOR NO KEY UPDATE", (thread,))
        cursor.execute(
            "DELETE FROM gp_wake WHERE id = (SELECT w.id FROM gp_wake w WHERE "
            "w.thread_id = %s::uuid AND w.kind = %s::varchar ORDER BY w.id LIMIT 1) RETURNING ref",
            (thread, KIND),
        )
        news = cursor.fetchone()
        if news is None:
            return False
        cursor.execute(
            "SELECT a.args::text, a.thread_id::text, s.agent FROM gp_activity a "
            "JOIN gp_thread s ON s.id = a.thread_id WHERE a.id = %s::uuid",
            (news[0],),
        )
        args, sender, agent = cursor.fetchone()
        sent_by = {"thread": sender, "agent": agent, "activity": news[0]}
        message = deltas.decode(args)["message"]
        move = Move(thread, in_statuses(TAKES_INPUT))
        receive(move, message, actor=f"thread:{sender}", sent_by=sent_by)
        if perform(move) is None:
            why = {"path": "$", "why": "The thread had ended.", "message": message, **sent_by}
            late = NewEvent(EventKind.UPDATE_REJECTED, why, f"thread:{sender}")
            perform(Move(thread, events=[late]))
        return True
