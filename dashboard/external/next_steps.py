"""The next action of an agent that works elsewhere, and the past that it continues from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal
from uuid import UUID

from approvals import queries as approval_queries
from approvals.queries import ApprovalRow
from checkpoints import leases, queries
from checkpoints.states import FINISHED, Status
from checkpoints.views import ActivityRow, CheckpointRow, InputRow, ThreadRow
from dashboard.errors import translated
from dashboard.identity.permissions import Actor, require
from workers.external.settled import to_undo

from .leases import closed, is_own

# Where a lease is what a thread needs to continue.
TAKEN_FROM: Final = (Status.QUEUED, Status.RUNNING, Status.ROLLING_BACK)

type Do = Literal["take", "work", "wait", "undo", "stop", "ended"]


@dataclass(frozen=True, slots=True)
class Next:
    """The next action of an external agent, its reason, and the rows it needs for it."""

    do: Do
    reason: str
    lease: Literal["yours", "other", "none"]
    thread: ThreadRow
    messages: Sequence[InputRow]
    requests: Sequence[ApprovalRow]
    undo: Sequence[ActivityRow]


@translated()
def next_of(actor: Actor, thread_id: UUID, token: UUID | None) -> Next:
    """Decide what the agent with this lease, or without one, has to do now."""
    require(actor, "read")
    row = queries.thread(thread_id, workspace=actor.workspace)
    lease: Literal["yours", "other", "none"] = "other" if row.lease_owner else "none"
    if token is not None and is_own(actor, row.lease_owner):
        work = leases.held(thread_id, token=token, workspace=actor.workspace)
        lease = "other" if work is None else "yours"
    undo: list[ActivityRow] = []
    if row.status is Status.ROLLING_BACK and row.rollback is not None:
        undo = to_undo(thread_id, row.rollback)
    do, reason = _do(row, lease, had=token is not None, undoes=bool(undo))
    return Next(
        do,
        reason,
        lease,
        row,
        queries.waiting_inputs(thread_id) if row.message_channel else (),
        approval_queries.for_thread(thread_id, open_only=True),
        undo,
    )


@translated()
def record_of(
    actor: Actor, thread_id: UUID, *, start: int, limit: int
) -> tuple[ThreadRow, Sequence[CheckpointRow], Mapping[UUID, list[ActivityRow]]]:
    """The thread, its checkpoints from a number on, and what is recorded after each of them."""
    require(actor, "read")
    row = queries.thread(thread_id, workspace=actor.workspace)
    points = queries.deltas_from(thread_id, start, limit=limit)
    return row, points, queries.activities_after(thread_id, points)


def _do(row: ThreadRow, lease: str, *, had: bool, undoes: bool) -> tuple[Do, str]:
    if row.external is None:
        return "stop", closed(row)
    if row.status in FINISHED:
        return "ended", row.status_reason or f"The thread has {row.status}."
    if why := closed(row):
        return "stop", why
    if lease == "yours":
        return ("undo", "Effects are to be undone.") if undoes else ("work", "The lease is yours.")
    expired = row.lease_until is not None and row.lease_until < row.read_at
    if lease == "other" and not expired:
        return ("stop" if had else "wait"), "Somebody else works on this thread."
    if row.stopped is not None and row.status in TAKEN_FROM:
        return "wait", row.stopped.sentence
    match row.status:
        case Status.ROLLING_BACK:
            return "undo", "Effects are to be undone: take the lease."
        case Status.QUEUED | Status.RUNNING:
            return "take", "The thread can continue: take the lease."
        case Status.WAITING:
            return "wait", "People are asked."
        case Status.SLEEPING:
            return "wait", row.status_reason or "The thread sleeps."
    return ("stop" if had else "wait"), row.status_reason or f"The thread is {row.status}."
