"""Reads from memory: the same frozen dataclasses that the database's readers answer."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from hashlib import sha256
from typing import Any
from uuid import UUID

from approvals.columns import APPROVAL
from approvals.queries import ApprovalRow
from checkpoints.chain import Broken
from checkpoints.chain.events import Log
from checkpoints.errors import CorruptHistory, NotFound
from checkpoints.log.fork_budgets import ForkBudget, Spent
from checkpoints.log.pins import accepted_after
from checkpoints.queries.activities import fate_of
from checkpoints.queries.overview.fork_budgets import ForkBudgetStanding
from checkpoints.records import Position
from checkpoints.state import deltas
from checkpoints.states import FROM_OUTSIDE, WOKEN_FROM_OUTSIDE, EventKind
from checkpoints.tables.columns import ACTIVITY
from checkpoints.views import ActivityRow, CheckpointRow, EffectFate, EventRow, InputRow

from .tables import MemoryTables, SavedCheckpoint, read

INPUTS_AT_ONCE = 100
OUTSIDE = ("done", "started", "unknown")


def activity_key(row: ActivityRow) -> tuple[UUID, Position, int]:
    """The key of an activity in memory."""
    position = Position(row.branch, row.step, row.node, row.index, row.key)
    return row.thread, position, row.revision


# ---- the log -----------------------------------------------------------------------------------


def events(tables: MemoryTables, thread: UUID, after: int = 0) -> list[EventRow]:
    """The events after a number, oldest first."""
    return [
        EventRow(
            thread, e.seq, e.kind, e.actor, read(e.data), e.at, e.hash.hex(), e.prev_hash.hex()
        )
        for e in tables.events[tables.row(thread).id][after:]
    ]


def inputs(tables: MemoryTables, thread: UUID) -> list[InputRow]:
    """Messages that the thread has not taken yet, oldest first."""
    log = tables.events[thread]
    return [
        InputRow(seq, read(log[seq - 1].data)["message"], log[seq - 1].actor, log[seq - 1].at)
        for seq in tables.inputs.get(thread, [])[:INPUTS_AT_ONCE]
    ]


def verify(tables: MemoryTables, thread: UUID) -> int:
    """Compute a thread's chain and states anew; the number of its events.

    Raises CorruptHistory at the first thing that does not fit.
    """
    row, entries = tables.row(thread), tables.events[thread]
    end = (row.last_seq, row.last_hash, entries[-1].seq)
    log = Log("thread", thread, row.workspace, row.chain_id, *end)
    try:
        for event in entries:
            log.check(event)
        log.check_end()
    except Broken as broken:
        raise CorruptHistory(f"Event {broken.seq}: {broken}.") from broken
    for item in tables.checkpoints[thread].values():
        delta = deltas.canonical(deltas.decode(item.delta))
        if sha256(item.salt + delta).digest() != item.delta_hash:
            raise CorruptHistory(f"The delta of checkpoint {item.new.number} was altered.")
        tables.checked(thread, item.new.id)
    return row.last_seq


# ---- checkpoints -------------------------------------------------------------------------------


def checkpoint(tables: MemoryTables, thread: UUID, ident: UUID) -> CheckpointRow:
    """One checkpoint of this thread; raises NotFound."""
    return _row(thread, tables.checkpoint(thread, ident))


def checkpoints(tables: MemoryTables, thread: UUID) -> list[CheckpointRow]:
    """A thread's own checkpoints, oldest first; those off the head's path are marked."""
    on_the_way = {k.new.id for _, k in path(tables, thread, tables.row(thread).head)}
    return [
        replace(_row(thread, k), abandoned=ident not in on_the_way)
        for ident, k in tables.checkpoints[thread].items()
    ]


def by_number(tables: MemoryTables, thread: UUID, number: int) -> CheckpointRow:
    """The checkpoint with this ordinal in the thread; raises NotFound."""
    for ident, saved in tables.checkpoints[tables.row(thread).id].items():
        if saved.new.number == number:
            return checkpoint(tables, thread, ident)
    raise NotFound(f"There is no checkpoint {number} in this thread.")


def on_way(tables: MemoryTables, thread: UUID, ident: UUID) -> bool:
    """Answer True if the path to the head goes through this checkpoint of the thread."""
    return any(k.new.id == ident for _, k in path(tables, thread, tables.row(thread).head))


def newest_sound(tables: MemoryTables, thread: UUID, ident: UUID) -> CheckpointRow | None:
    """The newest checkpoint before this one whose state fits its hash, as far as its branch goes.

    None when there is none, or when only steps of another branch come before it.
    """
    past = [saved for owner, saved in path(tables, thread, ident) if owner == thread]
    for before, saved in itertools.pairwise(past):
        if saved.new.branch != past[0].new.branch and saved.new.step != before.new.step:
            return None
        try:
            tables.checked(thread, saved.new.id)
        except CorruptHistory:
            continue
        return _row(thread, saved)
    return None


def upgraded_from(tables: MemoryTables, thread: UUID) -> set[UUID]:
    """The agent versions that wrote what upgrades of this thread's state began with."""
    results = [
        item.new for item in tables.checkpoints[thread].values() if item.new.source == "upgrade"
    ]
    return {
        tables.checkpoint(c.parent_thread or thread, c.parent).new.agent_version
        for c in results
        if c.parent is not None
    }


def accepted_from(tables: MemoryTables, thread: UUID) -> set[UUID]:
    """The agent versions whose decisions hold under the code that people accepted since."""
    upgraded = {str(version) for version in upgraded_from(tables, thread)}
    accepted = {str(version) for version in tables.accepted.get(thread, ())}
    for event in events(tables, thread):
        if event.kind == EventKind.CODE_CHANGED:
            accepted = accepted_after(accepted, event.data, upgraded)
    return {UUID(version) for version in accepted}


def config(tables: MemoryTables, thread: UUID) -> dict[str, Any]:
    """The configuration of the thread since its start or fork: model, temperature, prompts."""
    (first,) = [k for k in tables.checkpoints[thread].values() if k.new.number == 0]
    return dict(first.new.config or {})


def path(tables: MemoryTables, thread: UUID, ident: UUID) -> Iterator[tuple[UUID, SavedCheckpoint]]:
    """A checkpoint and its past, newest first, with the threads they lie in."""
    owner: UUID | None = thread
    at: UUID | None = ident
    while owner is not None and at is not None:
        checkpoint = tables.checkpoint(owner, at)
        yield owner, checkpoint
        owner, at = checkpoint.new.parent_thread, checkpoint.new.parent


def _row(thread: UUID, saved: SavedCheckpoint) -> CheckpointRow:
    c = saved.new
    return CheckpointRow(
        id=c.id,
        thread=thread,
        number=c.number,
        branch=c.branch,
        step=c.step,
        parent=c.parent,
        parent_thread=c.parent_thread,
        parent_number=c.parent_number,
        source=c.source,
        nodes=tuple(c.nodes),
        next_nodes=tuple(c.next_nodes),
        delta=read(saved.delta),
        state_hash=c.state_hash.hex(),
        state_bytes=c.state_bytes,
        schema_version=c.schema_version,
        agent_version_id=c.agent_version,
        created_by=c.created_by,
        created_at=saved.created_at,
    )


# ---- activities and requests -------------------------------------------------------------------


def activities(tables: MemoryTables, thread: UUID) -> list[ActivityRow]:
    """List the activities, oldest first, newest revision of a position last."""
    results = [a for (owner, _, _), a in tables.activities.items() if owner == thread]
    return [_activity(a) for a in sorted(results, key=lambda a: (a.started_at, a.revision))]


def activity(tables: MemoryTables, ident: UUID) -> ActivityRow:
    """One activity; raises NotFound."""
    for row in tables.activities.values():
        if row.id == ident:
            return _activity(row)
    raise NotFound("There is no such activity.")


def _activity(row: ActivityRow) -> ActivityRow:
    salt = None if row.cursor is None else row.salt
    return replace(row, salt=salt, **{name: read(getattr(row, name)) for name in ACTIVITY.json})


FAILED = (EventKind.ACTIVITY_FAILED, EventKind.MODEL_FAILED, EventKind.EFFECT_FAILED)


def steps_since_outside(tables: MemoryTables, thread: UUID, *, at_most: int) -> int:
    """Number of steps since the last thing from outside, up to `at_most`."""
    steps = 0
    for entry in reversed(tables.events[thread]):
        data = read(entry.data) if entry.kind in _OF_STEPS else {}
        if entry.kind in FROM_OUTSIDE or data.get("by") in WOKEN_FROM_OUTSIDE:
            break
        steps += bool(data.get("nodes"))
        if steps == at_most:
            break
    return steps


_OF_STEPS = (EventKind.CHECKPOINT_COMMITTED, EventKind.THREAD_WOKEN)


def failures(tables: MemoryTables, thread: UUID, activity: UUID) -> int:
    """Count the failures of an activity at this head since a person last clicked on Retry."""
    number = 0
    for entry in reversed(tables.events[thread]):
        if entry.kind in (EventKind.CHECKPOINT_COMMITTED, EventKind.THREAD_RETRIED):
            break
        if entry.kind in FAILED:
            number += read(entry.data)["activity"] == str(activity)
    return number


def effects_after(tables: MemoryTables, thread: UUID, ident: UUID) -> list[EffectFate]:
    """List the effects between a checkpoint and the head, last first, each with its fate."""
    row, goal = tables.row(thread), tables.checkpoint(thread, ident).new
    spans: dict[int, tuple[int, int]] = {}  # branch: the steps after the goal that count
    for owner, saved in path(tables, thread, row.head):
        c = saved.new
        if owner != thread:
            break
        top = spans.get(c.branch, (0, c.step + (1 if c.branch == row.branch else 0)))[1]
        spans[c.branch] = (goal.step if c.id == goal.id else -1, top)
        if c.id == goal.id:
            break
    results = [
        a
        for a in activities(tables, thread)
        if a.kind == "effect"
        and a.state in OUTSIDE
        and a.branch in spans
        and spans[a.branch][0] < a.step <= spans[a.branch][1]
    ]
    last_first = sorted(results, key=lambda a: (a.branch, a.step, a.started_at, a.id), reverse=True)
    return [fate_of(a) for a in last_first]


def approvals(tables: MemoryTables, thread: UUID, *, open_only: bool = False) -> list[ApprovalRow]:
    """A thread's requests, oldest first."""
    return [
        approval(tables, a.id)
        for a in tables.approvals.values()
        if a.thread == thread and (a.open or not open_only)
    ]


def approval(tables: MemoryTables, ident: UUID) -> ApprovalRow:
    """One request; raises NotFound."""
    if ident not in tables.approvals:
        raise NotFound("There is no such request.")
    row = tables.approvals[ident]
    values = {name: read(getattr(row, name)) for name in APPROVAL.json}
    return replace(row, thread_title=tables.row(row.thread).title, **values)


def file(tables: MemoryTables, sha: str) -> bytes:
    """The bytes of a file; raises NotFound."""
    if sha not in tables.files:
        raise NotFound("There is no such file.")
    return tables.files[sha][2]


def kinds(tables: MemoryTables, thread: UUID) -> list[EventKind]:
    """The kinds of the thread's events in order."""
    return [EventKind(e.kind) for e in tables.events[thread]]


def fork_budget(tables: MemoryTables, thread: UUID) -> ForkBudgetStanding | None:
    """The budget of a fork and what it and its children have spent; None where it has none."""
    if thread not in tables.budgets:
        return None
    first, now = map(ForkBudget.read, tables.budgets[thread])
    family = [other for other in tables.rows.values() if thread in (other.id, other.root)]
    cost = sum((Decimal(other.cost) for other in family), Decimal(0))
    spent = Spent(cost, sum(other.tokens for other in family), tables.row(thread).n_steps)
    return ForkBudgetStanding(first, now, spent)
