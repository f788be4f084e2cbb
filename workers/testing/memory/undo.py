"""Undo of a whole thread in memory: what the store and its readers do for a failed or ended one."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from checkpoints import undo
from checkpoints.errors import NotAllowedNow, NotFound
from checkpoints.states import CANCELLABLE, EventKind, Status
from checkpoints.store import NewEvent
from checkpoints.views import ActivityRow, CheckpointRow, EffectFate

from . import reads as reading
from . import requests
from .interrupted_effects import taken_away
from .once import released
from .tables import MemoryTables, read, written

K = EventKind


def effects_of(tables: MemoryTables, thread: UUID) -> list[EffectFate]:
    """List the effects of a thread on the path to its head, last first; not its base's."""
    return reading.effects_after(tables, thread, reading.by_number(tables, thread, 0).id)


def checkpoint_before(tables: MemoryTables, activity: ActivityRow) -> CheckpointRow:
    """The newest checkpoint, on the way to the head, that knows nothing of an activity on it."""
    for row in reversed(reading.checkpoints(tables, activity.thread)):
        if row.branch == activity.branch and row.step < activity.step and not row.abandoned:
            return row
    raise NotFound("This activity does not lie on the way to the thread's head.")


def undo_failures(tables: MemoryTables, thread: UUID) -> dict[str, tuple[int, str]]:
    """{effect: (how often its undo failed, the last error)} since the undo was wanted last."""
    results: dict[str, tuple[int, str]] = {}
    for event in tables.events[thread]:
        if event.kind in (K.ROLLBACK_STARTED, K.ROLLBACK_RETRIED):
            results.clear()
        elif event.kind == K.COMPENSATION_FAILED:
            text = read(event.data)
            count, _ = results.get(text["activity"], (0, ""))
            results[text["activity"]] = (count + 1, text.get("error", ""))
    return results


def carried(plan: dict[str, Any]) -> dict[str, Any]:
    """The columns of a thread's row that is to be rolled back."""
    sets: dict[str, Any] = {"rollback": written(plan), "wish": "", "waiting_on": None}
    return sets | {"wake_at": None, "crash_count": 0, **released(K.ROLLBACK_STARTED)}


def cancel_and_undo(
    tables: MemoryTables, thread: UUID, *, actor: str, reason: str = "", unknown: bool = False
) -> bool:
    """Any unfinished status -> rolling_back, to be cancelled; False where nothing can be undone."""
    row = tables.row(thread)
    if row.status not in CANCELLABLE:
        raise NotAllowedNow(
            f"Cancelling is not possible while the thread is {row.status}.", status=row.status
        )
    fates = effects_of(tables, thread)
    chosen = undo.chosen(fates, unknown=unknown)
    if not chosen:
        return False
    requests.withdraw_open(tables, thread, reason="The thread was cancelled.", actor=actor)
    plan = undo.plan_back_to(
        checkpoint_before(tables, chosen[-1].activity),
        fates,
        reason=reason,
        by=actor,
        then="cancelled",
        unknown=unknown,
    )
    away = taken_away(tables, thread, actor=actor, how="cancelled")
    event = NewEvent(K.ROLLBACK_STARTED, plan | away.data, actor, undo.version(plan))
    tables.move(
        thread,
        sets=carried(plan),
        status=Status.ROLLING_BACK,
        reason=reason,
        events=[*away.events, event],
        also=away.mark,
    )
    return True
