"""Drain the hot store: buffered steps become rows and chained events, each exactly once.

The position of a drain is the thread's head: an entry names the checkpoint before its own, so it is
the next one or it is not. Head and rows change in one transaction, and only after its commit are
the entries dropped from the stream.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Final, Never
from uuid import UUID

import structlog
from django.db import transaction

from ..errors import LeaseLost, NotFound
from ..hot import streams
from ..hot.streams import Entry
from ..postgres.guarded_rows import handle_each
from ..postgres.named_rows import fetch_named
from ..queries.hot_streams import hot_stream
from ..records import Work
from ..states import EventKind
from .buffered_steps import BufferedStep, decode_step
from .statement.moves import Move, NewEvent, perform
from .step_batches import lock_head, write_batch
from .steps import leave

log = structlog.get_logger("gatepost.hot")
# Entries in one transaction: it holds the thread's row meanwhile.
BATCH: Final = 500
# Transactions that a sweep spends on one thread before it looks at the next.
BATCHES_PER_SWEEP: Final = 10
MOVED_ON: Final = "The thread has moved on without them."
PASSED: Final = "The thread was taken from its worker while the hot store was away."


def drain(thread: UUID, *, batches: int | None = None) -> int:
    """Write the buffered steps of a thread, oldest first, a batch a transaction; how many.

    Stops after `batches` of them. Inside of another transaction they are dropped from the stream
    after its commit. Raises HotStoreAway, NotFound.
    """
    drained, after = 0, ""
    while batches is None or batches > 0:
        entries = streams.entries_of(thread, after=after, at_most=BATCH)
        if entries:
            after = entries[-1].id
            with transaction.atomic():
                # First, so that a page which the commit calls finds them in one place only.
                transaction.on_commit(partial(streams.trim, thread, last=after), robust=True)
                drained += _write(thread, entries)
        if len(entries) < BATCH:
            break
        batches = None if batches is None else batches - 1
    return drained


def drain_due() -> int:
    """Drain every stream that has entries, for a while each; how many steps were written."""
    due = [(thread, thread) for thread in streams.threads_with_entries()]
    return handle_each("drained", due, lambda row: drain(row[0], batches=BATCHES_PER_SWEEP))


def write_steps(work: Work, entries: Sequence[bytes]) -> None:
    """Write encoded steps that the hot store did not take, under the lease.

    Raises LeaseLost: nothing of them was written.
    """
    with transaction.atomic():
        row = _locked(work)
        steps = [decode_step(content) for content in entries]
        if steps[0].checkpoint.parent == row.head:
            write_batch(row, steps)
            return
    _give_up(work, row)


def check_drained(work: Work) -> None:
    """Raise LeaseLost where the thread is not where its worker has come to.

    What the hot store has lost is recorded, and the thread given back.
    """
    row = _locked(work)
    if row.head != work.head:
        _give_up(work, row)


def _locked(work: Work) -> Any:
    """The thread's head under the lease; raises LeaseLost. In a transaction its row is locked."""
    row = lock_head(work.thread, token=work.token)
    if row is None:
        raise LeaseLost(thread=work.thread)
    return row


def _give_up(work: Work, row: Any) -> Never:
    """Record the steps that the hot store has lost, and give the thread back at its head."""
    why = "The hot store has lost them."
    log.error("steps.lost", thread=str(work.thread), first=row.number + 1, last=work.number)
    data = {"first": row.number + 1, "last": work.number, "why": why}
    leave(
        work,
        EventKind.THREAD_HANDED_BACK,
        reason="the hot store has lost steps",
        events=[NewEvent(EventKind.STEPS_LOST, data, work.owner)],
    )
    raise LeaseLost(thread=work.thread)


def _write(thread: UUID, entries: Sequence[Entry]) -> int:
    """Write those of these entries that are not written yet; how many."""
    row = lock_head(thread)
    if row is None:
        # Of another database that shares this hot store: its entries are not ours to drop.
        raise NotFound("There is no such thread.")
    steps = _not_written(thread, row.head, [decode_step(entry.content) for entry in entries])
    stream = hot_stream(thread)
    passed = stream is not None and stream.is_cut_off
    fitting = [] if passed else _following(row.head, steps)
    if fitting:
        write_batch(row, fitting)
    if lost := steps[len(fitting) :]:
        _note_lost(thread, lost, why=PASSED if passed else MOVED_ON)
    return len(fitting)


def _not_written(thread: UUID, head: UUID, steps: Sequence[BufferedStep]) -> Sequence[BufferedStep]:
    """The steps after those that were written before: an answer was lost, or a trim."""
    if steps[0].checkpoint.parent == head:
        return steps
    ids = [step.checkpoint.id for step in steps]
    known = {
        row.id
        for row in fetch_named(
            "SELECT id FROM gp_checkpoint WHERE thread_id = %s::uuid AND id = ANY(%s::uuid[])",
            (thread, ids),
        )
    }
    return [step for step in steps if step.checkpoint.id not in known]


def _following(head: UUID, steps: Sequence[BufferedStep]) -> Sequence[BufferedStep]:
    """The steps that follow the head without a gap."""
    ids = [head, *(step.checkpoint.id for step in steps)]
    for i, (before, step) in enumerate(zip(ids, steps, strict=False)):
        if step.checkpoint.parent != before:
            return steps[:i]
    return steps


def _note_lost(thread: UUID, steps: Sequence[BufferedStep], *, why: str) -> None:
    """Record that buffered steps can't be written; nothing after them pretends to follow."""
    first, last = steps[0].checkpoint, steps[-1].checkpoint
    data: dict[str, Any] = {"first": first.number, "last": last.number, "why": why}
    log.error("steps.lost", thread=str(thread), **data)
    perform(Move(thread, events=[NewEvent(EventKind.STEPS_LOST, data, last.created_by)]))
