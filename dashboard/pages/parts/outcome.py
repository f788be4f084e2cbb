"""The outcome of a thread that succeeded or was rolled back, in the words of its tools."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from checkpoints import queries
from checkpoints.views import ActivityRow, EffectFate


def outcomes(activities: Iterable[ActivityRow]) -> list[ActivityRow]:
    """Effects that were done and that nobody undid, in the order of `activities`."""
    return [row for row in activities if row.kind == "effect" and row.state == "done"]


@dataclass(frozen=True, slots=True)
class UndoOutcome:
    """The effects that the last undo of a thread took back, and those that are still in place."""

    undone: list[ActivityRow]
    left: list[EffectFate]


def outcome_of_undo(thread: UUID) -> UndoOutcome | None:
    """Read the outcome of the last undo of a thread; None where it concerned no effect."""
    undone = queries.undone_last(thread)
    left = queries.effects_left(thread, queries.effects_of(thread))
    return UndoOutcome(undone, left) if undone or left else None
