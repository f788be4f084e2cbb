"""News for a thread that does not change its state: events, and waking it for them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
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
        queue_where(move, "th.status IN ('waiting', 'sleeping')")
    move.events = [event]
    move.inserts = [*beside]
    return perform(move) is not None


def queue_where(move: Move, condition: str, *params: Any) -> None:
    """Let `move` queue a thread for which `condition` is true, and leave any other as it is."""
    for column, queued in (
        ("status", "'queued'"),
        ("status_since", "clock_timestamp()"),
        ("waiting_on", "NULL"),
    ):
        sql = f"CASE WHEN {condition} THEN {queued} ELSE th.{column} END"
        move.express(column, sql, *params)
