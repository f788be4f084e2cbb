"""New input for a living thread: received by anyone's word, taken by its worker between two steps.

The message stands once, in the event `input.received`. A `wake` row names that event until the
commit that takes it removes the row: received and taken are one statement each, so a message is
seen exactly once no matter what is killed in between.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from ..states import TAKES_INPUT, EventKind
from .statement.guards import in_statuses, refuse, versioned
from .statement.moves import Insert, Move, NewEvent, perform
from .statement.text import RowSql

WAKE_KIND = "input"
# In a column of `t` the event's own number is only known to the statement.
_WAKE = RowSql(
    "gp_wake",
    {"thread_id": "t.id", "kind": "%s::varchar", "ref": "t.last_seq::varchar"},
)
_TAKEN = (
    "DELETE FROM gp_wake w USING t WHERE w.thread_id = t.id AND w.kind = %s::varchar "
    "AND w.ref = ANY(%s::varchar[])"
)


def send_input(
    thread: UUID, *, message: Any, actor: str, expected_version: int | None = None
) -> int:
    """Keep a message for the thread's next step; the number of its event.

    Any status but succeeded and cancelled. The lease stays with its worker, nobody is woken and
    no version is spent: several people may write concurrently. `wake_seq` shows the worker with its
    next commit that there is something to take.
    """
    move = versioned(Move(thread, in_statuses(TAKES_INPUT)), expected_version)
    receive(move, message, actor=actor)
    row = perform(move)
    if row is None:
        refuse(thread, expected_version=expected_version, wanted="Taking new input")
        raise AssertionError("unreachable")
    return int(row.last_seq)


def receive(
    move: Move,
    message: Any,
    *,
    actor: str,
    sent_by: Mapping[str, str] | None = None,
    utterance: Mapping[str, Any] | None = None,
) -> None:
    """Let `move` append a message to the log of its thread; `sent_by` names a thread.

    `utterance` has the number of one that was said.
    """
    move.express("wake_seq", "th.wake_seq + 1")
    data = {"message": message, **({"sent_by": dict(sent_by)} if sent_by else {})}
    data |= {"utterance": dict(utterance)} if utterance else {}
    move.events = [NewEvent(EventKind.INPUT_RECEIVED, data, actor)]
    move.inserts = [received(WAKE_KIND)]


def received(kind: str) -> Insert:
    """The row that names the move's own event until it is settled."""
    return Insert(_WAKE, (kind,))


def take(move: Move, seqs: Sequence[int]) -> None:
    """Let `move` settle these messages in the same statement."""
    settle(move, WAKE_KIND, seqs)


def settle(move: Move, kind: str, seqs: Sequence[int]) -> None:
    """Let `move` remove the rows of a kind that name these events, in the same statement."""
    if seqs:
        move.updates.append((_TAKEN, (kind, [str(seq) for seq in seqs])))
