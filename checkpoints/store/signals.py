"""Signals: news from outside for one wait of a thread, kept until that wait takes it.

The value stands once, in the event `signal.received`. A `wake` row names that event until the
record of the wait removes it, so a signal is taken exactly once no matter what is killed in
between, and whether it comes before the wait begins or after.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from ..states import TAKES_INPUT, EventKind
from .inputs import received, settle
from .statement.guards import in_statuses, refuse, versioned
from .statement.moves import Move, NewEvent, perform
from .wakes import queue_where

WAKE_KIND = "signal"
# The thread waits for a signal of this name, maybe beside other things.
_IS_AWAITED = "(th.status = 'waiting' AND coalesce(th.waiting_on -> 'signals' ? %s::text, false))"


def send_signal(
    thread: UUID, *, name: str, value: Any, actor: str, expected_version: int | None = None
) -> int:
    """Keep a signal for a thread, and queue the thread if it waits for it; its event's number.

    Any status but succeeded and cancelled. A worker that holds the thread keeps its lease: the
    raised `wake_seq` keeps it from leaving for a wait whose signal is there.
    """
    move = versioned(Move(thread, in_statuses(TAKES_INPUT)), expected_version)
    receive_signal(move, name, value, actor=actor)
    row = perform(move)
    if row is None:
        refuse(thread, expected_version=expected_version, wanted="Taking a signal")
        raise AssertionError("unreachable")
    return int(row.last_seq)


def receive_signal(
    move: Move, name: str, value: Any, *, actor: str, utterance: Mapping[str, Any] | None = None
) -> None:
    """Let `move` keep a signal, and queue its thread if it waits for it.

    `utterance` has the number of one that was said.
    """
    move.express("wake_seq", "th.wake_seq + 1")
    move.express("version", f"th.version + CASE WHEN {_IS_AWAITED} THEN 1 ELSE 0 END", name)
    queue_where(move, _IS_AWAITED, name)
    data = {"signal": name, "value": value, **({"utterance": dict(utterance)} if utterance else {})}
    move.events = [NewEvent(EventKind.SIGNAL_RECEIVED, data, actor)]
    move.inserts = [received(WAKE_KIND)]


def take_signals(move: Move, seqs: Sequence[int]) -> None:
    """Let `move` settle these signals in the same statement."""
    settle(move, WAKE_KIND, seqs)
