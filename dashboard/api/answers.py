"""Answers that API and commands build alike from rows of the readers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import UUID

from approvals import queries as gates
from approvals.queries import ApprovalRow
from checkpoints import queries
from checkpoints.states import PLAIN
from checkpoints.views import CheckpointRow, EventRow, StepRow, ThreadRow
from checkpoints.why import why_waiting
from dashboard.compare import Comparison
from dashboard.permissions import Actor

from .shapes import Diff, Event, EventList, Place, State, ThreadDetail

# So many checkpoints before the shown one are told with its state.
HISTORY = 20


def thread_detail(
    actor: Actor, thread_id: UUID
) -> tuple[ThreadRow, ThreadDetail, list[ApprovalRow]]:
    """One thread as it is now, for one caller, and its open requests; raises NotFound."""
    row = queries.thread(thread_id, workspace=actor.workspace)
    open_ones = gates.for_thread(thread_id, open_only=True)
    why = why_waiting(row, open_ones, queries.workers())
    inputs = queries.waiting_inputs(thread_id) if row.inbox else []
    told = ThreadDetail.told(
        row,
        why=why,
        actor=actor,
        approvals=open_ones,
        inputs=inputs,
        storage=queries.storage(thread_id),
        saved=queries.saved(row),
    )
    return row, told, open_ones


def state_answer(row: ThreadRow, point: CheckpointRow) -> State:
    """The whole state at a checkpoint of a thread."""
    state = queries.state_at(row.id, point.id)
    steps, n_steps = queries.steps_before(row.id, point.id, limit=HISTORY)
    return State(
        name=row.name,
        session_id=row.name,
        version=row.version,
        step=point.step,
        status=PLAIN[row.status],
        thread_status=str(row.status),
        created_at=row.created_at,
        updated_at=point.created_at,
        context={
            "thread": str(row.id),
            "title": row.title,
            "agent": row.agent,
            "agent_version": row.version_label,
            "labels": row.labels,
            "checkpoint": str(point.id),
            "number": point.number,
            "branch": point.branch,
            "head": point.id == row.head,
            "next_nodes": list(point.next_nodes),
            "state_hash": point.state_hash,
            "schema_version": point.schema_version,
            "config": queries.config_of(row.id),
            "history": [_step(one) for one in steps],
            "n_earlier": n_steps - len(steps),
        },
        artifacts=list({ref["$artifact"]: ref for ref in files_in(state)}.values()),
        state=state,
    )


def _step(one: StepRow) -> dict[str, Any]:
    return {
        "number": one.number,
        "step": one.step,
        "source": one.source,
        "nodes": list(one.nodes),
        "next_nodes": list(one.next_nodes),
        "at": one.at,
        "thread": str(one.thread),
    }


def files_in(value: Any) -> Iterator[dict[str, Any]]:
    """Every reference to a file inside a value."""
    if isinstance(value, list):
        for item in value:
            yield from files_in(item)
    elif isinstance(value, dict):
        if isinstance(value.get("$artifact"), str):
            yield value
        for item in value.values():
            yield from files_in(item)


def events_answer(rows: list[EventRow], *, after: int, limit: int) -> EventList:
    """The first `limit` of events read after a number; one more in `rows` says there are more."""
    shown = [Event.model_validate(row) for row in rows[:limit]]
    last = shown[-1].seq if shown else after
    return EventList(
        results=shown, last_seq=last, next_cursor=str(last) if len(rows) > limit else ""
    )


def diff_answer(found: Comparison) -> Diff:
    """A comparison of two checkpoints."""
    return Diff.model_validate(
        {
            "from": _place(found.old),
            "to": _place(found.new),
            "patch": found.patch,
            "common": None if found.common is None else _place(found.common),
            "diverged": {"from": _event(found.old_event), "to": _event(found.new_event)},
        }
    )


def _place(row: CheckpointRow) -> Place:
    return Place(thread=row.thread, checkpoint=row.id, number=row.number, step=row.step)


def _event(row: EventRow | None) -> Event | None:
    return None if row is None else Event.model_validate(row)
