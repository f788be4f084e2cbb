"""Utterances become events: each once, in order, whichever process writes them.

The position is the log itself: under the lock of the thread's row the last utterance that stands in
it is looked for, behind the event that the buffer noted. Only after the commit does the buffer
learn how far it is.
"""

from __future__ import annotations

from typing import Any, Final
from uuid import UUID

import structlog
from django.db import transaction

from ..ephemeral import copies
from ..errors import NotAllowedNow, NotFound
from ..hot import utterances as buffers
from ..hot.utterances import Utterance
from ..postgres.guarded_rows import handle_each
from ..postgres.named_rows import fetch_named
from ..queries.conversations.utterances import last_utterance
from ..queries.event_log import NOT_TAKEN
from ..signals import Store, thread_changed, thread_queued
from ..states import TAKES_INPUT, EventKind, Status
from .inputs import WAKE_KIND as INPUT
from .inputs import receive
from .signals import WAKE_KIND as SIGNAL
from .signals import receive_signal
from .statement.guards import in_statuses
from .statement.moves import Move, NewEvent, perform

log = structlog.get_logger("gatepost.voice")
# Utterances in one transaction: it holds the thread's row meanwhile.
BATCH: Final = 100
# The signal that carries an utterance into a thread whose agent has no message channel.
UTTERANCE: Final = "utterance"
ENDED: Final = "The thread had ended."


def record_utterances(thread: UUID) -> int:
    """Write the buffer of a conversation into its thread's log; the last number that stands there.

    Some stay in the buffer while as many messages wait to be taken as a thread keeps. Raises
    NotFound.
    """
    buffer = buffers.find_buffer(thread)
    if buffer is None:
        return 0
    entries = buffers.utterances_from(thread, buffer.recorded + 1, at_most=BATCH)
    if not entries:
        buffers.note_recorded(thread, buffer.recorded, seq=buffer.seq)
        return buffer.recorded
    with transaction.atomic():
        rows = fetch_named(
            "SELECT status, erasure, workspace_id AS workspace, last_seq FROM gp_thread "
            "WHERE id = %s::uuid FOR UPDATE",
            (thread,),
        )
        if not rows:
            # Of another database that shares this hot store: what people said is not ours to drop.
            raise NotFound("There is no such thread.")
        if rows[0].erasure is not None:
            buffers.forget(thread)
            return 0
        [row] = rows
        number, seq = _position(thread, entries, after=buffer.seq)
        number = max(number, buffer.recorded)
        free = NOT_TAKEN - _not_taken(thread)
        for each in entries:
            if each.number <= number:
                continue  # another process was faster, or its buffer did not learn of it
            if free <= 0 or not _record(thread, each, status=row.status):
                break
            number, free = each.number, free - 1
    buffers.note_recorded(thread, number, seq=seq)
    if entries[0].target == "memory":
        _ring(thread, entries[0].queue, workspace=row.workspace, seq=row.last_seq)
    return number


def record_due() -> int:
    """The same for all conversations with utterances that are not recorded; how many there are."""
    due = [(thread, thread) for thread in buffers.threads_with_utterances(patience=0)]
    handle_each("utterances", due, lambda row: record_utterances(row[0]))
    return len(due)


def _position(thread: UUID, entries: list[Utterance], *, after: int) -> tuple[int, int]:
    """(the last utterance that stands there, the event from which to look the next time)."""
    number, seq = last_utterance(thread, after=after)
    if entries[0].target == "memory":
        number = max(number, copies.last_utterance(thread))
    return number, seq


def _not_taken(thread: UUID) -> int:
    """Count the messages and signals that the thread has not taken."""
    [row] = fetch_named(
        "SELECT count(*) AS n FROM gp_wake WHERE thread_id = %s::uuid AND kind = ANY(%s::text[])",
        (thread, [INPUT, SIGNAL]),
    )
    return int(row.n)


def _record(thread: UUID, each: Utterance, *, status: str) -> bool:
    """Hand one utterance to its thread; False where that has to wait."""
    about: dict[str, Any] = {"number": each.number}
    if each.audio:
        about["audio"] = dict(each.audio)
    move = Move(thread, in_statuses(TAKES_INPUT))
    if each.target == "memory":
        try:
            copies.send(
                thread,
                queue=each.queue,
                message=each.value,
                actor=each.actor,
                ttl=each.ttl,
                utterance=each.number,
            )
            return True
        except NotAllowedNow as error:
            if status in (Status.QUEUED, Status.RUNNING):
                return False  # its first turn has not written its state yet
            return _refuse(thread, each, about, why=error.message)
    if each.target == "signal":
        receive_signal(move, UTTERANCE, each.value, actor=each.actor, utterance=about)
    else:
        receive(move, each.value, actor=each.actor, utterance=about)
    return perform(move) is not None or _refuse(thread, each, about, why=ENDED)


def _refuse(thread: UUID, each: Utterance, about: dict[str, Any], *, why: str) -> bool:
    """Keep in the log what a thread no longer takes."""
    data = {"path": "$", "why": why, "message": each.value, "utterance": about}
    log.warning("voice.not_taken", thread=str(thread), number=each.number, why=why)
    perform(Move(thread, events=[NewEvent(EventKind.UPDATE_REJECTED, data, each.actor)]))
    return True


def _ring(thread: UUID, queue: str, *, workspace: UUID, seq: int) -> None:
    """Begin the turn of an ephemeral thread that takes what was said."""
    thread_queued.send_robust(sender=Store, thread_id=thread, queue=queue)
    thread_changed.send_robust(
        sender=Store, thread_id=thread, workspace=workspace, seq=seq, more_follows=False
    )
