"""In memory: effects that were lost, answers of people, and what lies beside the way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID

from checkpoints.errors import AlreadySettled, NotAllowedNow
from checkpoints.queries import Range
from checkpoints.records import NewActivity, Position
from checkpoints.state import deltas
from checkpoints.states import EventKind, Status
from checkpoints.store import NewEvent
from checkpoints.store.activities import NAMING_V
from checkpoints.store.unknown_effects import LOST, NOT_HAPPENED, settled_data, unknown_event
from checkpoints.verdicts import MEANING, Verdict, plan_of_undo, question_of
from checkpoints.views import ActivityRow

from . import reads as reading
from .once import released
from .tables import Guard, MemoryTables, Row, read, written


def lost(
    tables: MemoryTables, thread: UUID, ident: UUID, *, owner: str, guard: Guard
) -> Row | None:
    """started -> unknown; None when the guard did not hold."""
    row = reading.activity(tables, ident)

    def enter(at: datetime) -> None:
        _write(tables, row, state="unknown", error=LOST, finished_at=at)

    return tables.move(thread, guard=guard, events=[unknown_event(_named(row), owner)], also=enter)


def settle(
    tables: MemoryTables,
    thread: UUID,
    *,
    activity: UUID,
    verdict: Verdict,
    actor: str,
    result: Any = None,
    reason: str = "",
) -> None:
    """attention -> queued or rolling_back: what a person says about one effect."""
    deltas.check(result, "$.result")
    row = tables.row(thread)
    question = question_of(row.status, read(row.waiting_on))
    if question is None or question.activity != activity:
        before = settled(tables, thread, activity)
        if before is not None:
            message = f"This has been answered already: {MEANING[Verdict(before[0])]}."
            raise AlreadySettled(message, status=row.status)
        raise NotAllowedNow(f"Nothing is asked about this effect while the thread is {row.status}.")
    effect = reading.activity(tables, activity)
    if verdict not in question.choices(effect.state, effect.undo):
        raise NotAllowedNow(f"The answer {verdict} is not possible here.", status=row.status)
    sets: dict[str, Any] = {"wish": "", "waiting_on": None, "wake_at": None, "crash_count": 0}
    status, why = Status.QUEUED, ""
    following = NewEvent(EventKind.THREAD_RETRIED, {}, actor)
    if verdict in (Verdict.UNDO, Verdict.UNDO_AGAIN):
        plan = plan_of_undo(
            verdict,
            activity,
            head=row.head,
            number=row.number,
            step=row.step,
            tool=effect.tool,
            reason=reason,
            actor=actor,
        )
        sets |= {"rollback": written(plan), **released(EventKind.ROLLBACK_STARTED)}
        status, why = Status.ROLLING_BACK, plan["reason"]
        following = NewEvent(EventKind.ROLLBACK_STARTED, plan, actor)
    payload = settled_data(_named(effect), question, verdict, result=result, reason=reason)

    def enter(at: datetime) -> None:
        if verdict is Verdict.HAPPENED:
            saved = written(result)
            _write(tables, effect, state="done", result=saved, error="", finished_at=at)
        elif verdict is Verdict.NOT_HAPPENED:
            _write(tables, effect, state="failed", error=NOT_HAPPENED, finished_at=at)

    answer = NewEvent(EventKind.EFFECT_SETTLED, payload, actor, NAMING_V)
    tables.move(
        thread, sets=sets, status=status, reason=why, events=[answer, following], also=enter
    )


def settled(tables: MemoryTables, thread: UUID, ident: UUID) -> tuple[str, str] | None:
    """(verdict, hash of the arguments it is about) that people last gave about an effect."""
    for event in reversed(reading.events(tables, thread)):
        data = event.data
        if event.kind == EventKind.EFFECT_SETTLED and data["activity"] == str(ident):
            return data["verdict"], data.get("args_hash", "")
    return None


def branches_to_head(
    tables: MemoryTables, thread: UUID
) -> tuple[list[tuple[UUID, int, int]], dict[UUID, int]]:
    """([(thread, branch, last step) on the way, newest first], {thread: its newest branch})."""
    upto: dict[tuple[UUID, int], int] = {}
    for owner, saved in reading.path(tables, thread, tables.row(thread).head):
        upto.setdefault((owner, saved.new.branch), saved.new.step)
    results = [(owner, branch, step) for (owner, branch), step in upto.items()]
    return results, {owner: tables.row(owner).branch for owner, _, _ in results}


def at_place(
    tables: MemoryTables, ranges: Sequence[Range], position: Position, *, limit: int
) -> list[ActivityRow]:
    """List the activities at one node, index and key in these ranges, at most `limit` of each."""
    activities: list[ActivityRow] = []
    for thread, branch, low, high in ranges:
        here = [
            a
            for a in reading.activities(tables, thread)
            if a.branch == branch
            and low < a.step <= high
            and (a.node, a.index, a.key) == (position.node, position.index, position.key)
        ]
        activities += sorted(here, key=lambda a: (a.step, a.revision))[:limit]
    return activities


def _write(tables: MemoryTables, row: ActivityRow, **changes: Any) -> None:
    key = reading.activity_key(row)
    tables.activities[key] = replace(tables.activities[key], **changes)


def _named(row: ActivityRow) -> NewActivity:
    """An activity as the event of a write names it; its seal is of no use here."""
    return NewActivity(
        id=row.id,
        position=Position(row.branch, row.step, row.node, row.index, row.key),
        kind=row.kind,
        tool=row.tool,
        args=row.args,
        idempotency_key=row.idempotency_key,
        undo=row.undo,
        approval=row.approval,
        revision=row.revision,
        attempts=row.attempts,
        usage=row.usage,
    )
