"""The explanation of a stopped thread for pages: from `queries.why`, or none."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, timedelta

from approvals import queries as gates
from approvals.queries import ApprovalRow
from checkpoints import queries
from checkpoints.queries import why
from checkpoints.states import Status
from checkpoints.views import ReasonRow, ThreadRow

QUEUED_TOO_LONG = timedelta(seconds=3)
# Nothing holds these up; a page need not say so.
_MOVING = ("working", "finished")
_NEED_WORKERS = (Status.QUEUED, Status.RUNNING, Status.SLEEPING, Status.ROLLING_BACK)


def why_waiting(
    thread: ThreadRow, *, approvals: Sequence[ApprovalRow] | None = None
) -> ReasonRow | None:
    """Explain what holds the thread up and what to do about it; None while nothing does.

    `approvals` are its open requests if the caller has read them already.
    """
    if approvals is None:
        decidable = thread.status in (Status.WAITING, Status.PAUSED)
        approvals = gates.for_thread(thread.id, open_only=True) if decidable else []
    if thread.status is Status.WAITING and not approvals and (held := _held(thread)):
        return held
    fresh = thread.read_at - thread.status_since < QUEUED_TOO_LONG
    workers = queries.workers() if thread.status in _NEED_WORKERS else []
    result = why.why_waiting(
        thread,
        approvals,
        workers,
        awaited=queries.awaited(thread),
        edited=queries.edited_since(thread),
        position=(
            queries.queue_position(thread)
            if not fresh and why.may_be_taken(thread, workers)
            else None
        ),
    )
    # Of an end there is something to say only where somebody has to look.
    if (result.kind in _MOVING and not result.action) or (
        thread.status is Status.QUEUED and fresh and thread.stopped is None
    ):
        return None
    return result


def _held(thread: ThreadRow) -> ReasonRow | None:
    """The reason of a thread that waits only for the undo window of a decision; else None."""
    held = [row for row in gates.unsettled(thread.id) if row.effective_at is not None]
    if not held:
        return None
    first = min(held, key=lambda row: row.effective_at or row.requested_at)
    until = f"{(first.effective_at or first.requested_at).astimezone(UTC):%H:%M:%S} UTC"
    return ReasonRow(
        "gate",
        why.sentence(f"Decided: {first.headline.rstrip('.')}; it counts from {until} on"),
        first.decided_at or first.requested_at,
        "Until then the person who decided it can undo it.",
        {"approvals": [str(row.id) for row in held]},
    )
