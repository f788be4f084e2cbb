"""Answers that API and commands build alike from rows of the readers."""

from __future__ import annotations

from uuid import UUID

from approvals import queries as gates
from approvals.queries import ApprovalRow
from checkpoints import queries
from checkpoints.queries.why import may_be_taken, why_waiting
from checkpoints.views import CheckpointRow, EventRow, ThreadRow
from dashboard.html.comparison.compare import Comparison
from dashboard.html.comparison.endings import Ending
from dashboard.identity.permissions import Actor
from dashboard.threads.page.memory import inputs_in_memory
from dashboard.threads.page.outcome import outcome_of_undo
from dashboard.threads.thread_shapes import Diff, EventList, Place, ThreadDetail


def thread_detail(
    actor: Actor, thread_id: UUID
) -> tuple[ThreadRow, ThreadDetail, list[ApprovalRow]]:
    """One thread as it is now, for one caller, and its open requests; raises NotFound."""
    row = queries.thread(thread_id, workspace=actor.workspace)
    open_ones = gates.for_thread(thread_id, open_only=True)
    workers = queries.workers()
    why = why_waiting(
        row,
        open_ones,
        workers,
        awaited=queries.awaited(row),
        edited=queries.edited_since(row),
        position=queries.queue_position(row) if may_be_taken(row, workers) else None,
    )
    # Each piece of news raises the number: without any there is nothing to read.
    inputs, signals = queries.not_taken(thread_id) if row.wake_seq else ([], [])
    if row.is_ephemeral:
        inputs = inputs_in_memory(row)
    # Only a rollback begins a branch.
    head = queries.checkpoint(row.id, row.head) if row.branch else None
    payload = ThreadDetail.from_row(
        row,
        why=why,
        actor=actor,
        approvals=open_ones,
        inputs=inputs,
        signals=signals,
        storage=queries.storage(thread_id),
        saved=queries.saved(row),
        unpriced_calls=queries.unpriced_calls(row),
        undo_outcome=outcome_of_undo(row, head),
    )
    return row, payload, open_ones


def events_answer(rows: list[EventRow], *, after: int, limit: int) -> EventList:
    """The first `limit` of events read after a number; one more in `rows` says there are more."""
    shown = rows[:limit]
    last = shown[-1].seq if shown else after
    return EventList(
        results=shown, last_seq=last, next_cursor=str(last) if len(rows) > limit else ""
    )


def diff_answer(comparison: Comparison, ending: Ending | None = None) -> Diff:
    """A comparison of two checkpoints."""
    return Diff.model_validate(
        {
            "from": _position(comparison.old),
            "to": _position(comparison.new),
            "patch": comparison.patch,
            "common": None if comparison.common is None else _position(comparison.common),
            "diverged": {"from": comparison.old_event, "to": comparison.new_event},
            "diverged_step": comparison.diverged.step,
            "equal_steps": comparison.equal,
            "compared_all": comparison.diverged.whole,
            "ending": ending,
        }
    )


def _position(row: CheckpointRow) -> Place:
    return Place(thread=row.thread, checkpoint=row.id, number=row.number, step=row.step)
