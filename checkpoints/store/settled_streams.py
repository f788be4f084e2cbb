"""Settle the stream that a former lease left: drain it, and record what it no longer has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

import structlog
from django.db import DEFAULT_DB_ALIAS, connections, transaction

from ..hot import streams
from ..hot.streams import HotStoreAway
from ..postgres.named_rows import fetch_named
from ..queries.hot_streams import HotStreamRow, hot_stream
from ..records import Work
from ..states import EventKind
from . import hot_streams
from .drains import drain
from .statement.locks import LOCK_THREAD, lock_thread
from .statement.moves import Move, NewEvent, perform

log = structlog.get_logger("gatepost.hot")
GONE: Final = "The hot store has lost the thread's stream."
TRUNCATED: Final = "The hot store has lost the end of the thread's stream."
UNREACHABLE: Final = (
    "The hot store didn't answer when the thread was taken from its worker; what it holds of the "
    "thread is dropped."
)


@dataclass(frozen=True, slots=True)
class Settled:
    """The head of a locked thread before and after its stream was drained.

    `is_unreachable`: the hot store did not answer; the change that follows calls `pass_stream`.
    """

    before: UUID
    after: UUID
    is_unreachable: bool = False


def settle_stream(thread: UUID, *, actor: str, may_pass: bool = False) -> Settled | None:
    """Lock a thread that is about to be taken from its worker, and drain it in this transaction.

    Until that ends nobody can append: what was acknowledged is written, and nothing comes after.
    None where the hot store holds nothing of the thread. `actor` notices what is lost. Raises
    HotStoreAway, unless the change may pass what the hot store holds.
    """
    if connections[DEFAULT_DB_ALIAS].alias != DEFAULT_DB_ALIAS:  # a play has no hot store
        lock_thread(thread)
        return None
    rows = fetch_named(
        "SELECT th.head, th.last_seq, v.graph ->> 'durability' = 'hot' AS is_hot "
        "FROM gp_thread th JOIN gp_agent_version v ON v.id = th.agent_version_id "
        f"WHERE th.id = %s::uuid {LOCK_THREAD}",
        (thread,),
    )
    if not rows or not rows[0].is_hot:
        return None
    # Read with the lock: a lease notes its stream under it.
    stream = hot_stream(thread)
    if stream is None:
        return None
    head = rows[0].head
    try:
        # The one who opens it again has to know the event of the change that follows.
        is_there = streams.close_stream(thread, seq=rows[0].last_seq + 1)
        drain(thread)
    except HotStoreAway:
        if not may_pass:
            raise
        return Settled(head, head, is_unreachable=True)
    _note_missing(thread, stream, is_there=is_there, actor=actor)
    hot_streams.forget_stream(thread, token=stream.token)
    [now] = fetch_named("SELECT head FROM gp_thread WHERE id = %s::uuid", (thread,))
    return Settled(head, now.head)


def pass_stream(thread: UUID, *, actor: str) -> None:
    """Go past what the hot store holds of a locked thread: nobody knows it, and it is dropped."""
    stream = hot_stream(thread)
    if stream is not None and not stream.is_cut_off:
        hot_streams.cut_off_stream(thread)
        _record_missing(thread, stream.number, why=UNREACHABLE, actor=actor)


def settle_former(work: Work) -> bool:
    """Settle the stream of a former lease, for the holder of this one; False where none is noted.

    Raises LeaseLost, HotStoreAway.
    """
    stream = hot_stream(work.thread)
    if stream is None or stream.token == work.token:
        return False
    # Before it is opened, which makes a fence: an owner that is killed here leaves it to the next.
    is_there = streams.has_fence(work.thread)
    drain(work.thread)
    with transaction.atomic():
        # First: it locks the thread.
        hot_streams.note_stream(work)
        _note_missing(work.thread, stream, is_there=is_there, actor=work.owner)
    return True


def _note_missing(thread: UUID, stream: HotStreamRow, *, is_there: bool, actor: str) -> None:
    """Record what a stream that is drained by now should have had."""
    [row] = fetch_named("SELECT number FROM gp_thread WHERE id = %s::uuid", (thread,))
    if stream.is_cut_off or (is_there and stream.number <= row.number):
        return
    _record_missing(thread, stream.number, why=TRUNCATED if is_there else GONE, actor=actor)


def _record_missing(thread: UUID, reported: int, *, why: str, actor: str) -> None:
    """Record that checkpoints after the head were acknowledged, or may have been, and are lost."""
    [row] = fetch_named("SELECT number FROM gp_thread WHERE id = %s::uuid", (thread,))
    data: dict[str, Any] = {"first": row.number + 1, "at_least": True, "why": why}
    if reported > row.number:
        data["last"] = reported
    log.error("steps.lost", thread=str(thread), **data)
    perform(Move(thread, events=[NewEvent(EventKind.STEPS_LOST, data, actor)]))
