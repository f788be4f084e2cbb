"""The outcome of a thread that succeeded or was rolled back, in the words of its tools."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from checkpoints import queries
from checkpoints.views import ActivityRow, CheckpointRow, EffectFate, ThreadRow


def outcomes(activities: Iterable[ActivityRow]) -> list[ActivityRow]:
    """Effects that were done and that nobody undid, in the order of `activities`."""
    return [row for row in activities if row.kind == "effect" and row.state == "done"]


@dataclass(frozen=True, slots=True)
class UndoOutcome:
    """The effects that the last undo of a thread took back, and those that are still in place."""

    undone: list[ActivityRow]
    left: list[EffectFate]


def outcome_of_undo(thread: ThreadRow, head: CheckpointRow | None) -> UndoOutcome | None:
    """Read the outcome of the rollback that the newest state comes from.

    None where the head comes from anything else, and where the rollback concerned no effect.
    """
    if head is None or head.source != "rollback" or thread.erased:
        return None
    undone = queries.undone_last(thread.id)
    left = queries.effects_left(thread.id, queries.effects_of(thread.id))
    return UndoOutcome(undone, left) if undone or left else None
