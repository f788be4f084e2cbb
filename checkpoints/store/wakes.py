"""News for a thread that does not change its state: events, and waking it for them."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from .statement.moves import Insert, Move, NewEvent, perform


def add_event(
    thread: UUID, event: NewEvent, *, guard: str = "TRUE", beside: Iterable[Insert] = ()
) -> bool:
    """Append one event without changing the thread; False when `guard` did not hold.

    `beside` are rows of upper floors, written by the same statement.
    """
    return perform(Move(thread, guard, events=[event], inserts=[*beside])) is not None


def wake(
    thread: UUID,
    *,
    event: NewEvent,
    queue: bool = True,
    beside: Iterable[Insert] = (),
) -> bool:
    """Raise wake_seq with an event and queue the thread if it waits; False: no such thread.

    A worker that holds the thread sees the raised number with its next commit and starts
    once more instead of falling asleep over the news.
    """
    move = Move(thread)
    move.express("wake_seq", "th.wake_seq + 1")
    move.express("version", "th.version + 1")
    if queue:
        for column, sql in {
            "status": "CASE WHEN th.status IN ('waiting', 'sleeping') THEN 'queued' "
            "ELSE th.status END::varchar",
            "status_since": "CASE WHEN th.status IN ('waiting', 'sleeping') "
            "THEN clock_timestamp() ELSE th.status_since END",
            "waiting_on": "CASE WHEN th.status IN ('waiting', 'sleeping') THEN NULL "
            "ELSE th.waiting_on END",
        }.items():
            move.express(column, sql)
    move.events = [event]
    move.inserts = [*beside]
    return perform(move) is not None
