"""Effects that had started when their thread was taken away, as in the store."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from hashlib import sha256
from typing import Any
from uuid import UUID

from checkpoints.store import NewEvent
from checkpoints.store.interrupted_effects import COLUMNS, Underway, as_json, sentence

from . import reads as reading
from .tables import MemoryTables, written

# What the readers' rows call as the table does.
ALIKE = tuple(COLUMNS.without("input_hash", "result_hash", "approval_id"))


@dataclass(frozen=True, slots=True)
class Away:
    """The additions to a change that takes a thread away; `mark` enters it at their time."""

    events: list[NewEvent] = field(default_factory=list)
    data: dict[str, Any] = field(default_factory=dict)
    reason: str = ""
    mark: Callable[[datetime], None] = lambda _: None


def taken_away(tables: MemoryTables, thread: UUID, *, actor: str, how: str) -> Away:
    """The thread's effects that have started and not ended become unknown with the change."""
    why = f"The thread was {how} while this was under way; whether it happened is unknown."
    rows = [
        a for a in reading.activities(tables, thread) if a.kind == "effect" and a.state == "started"
    ]
    effects = [
        Underway(
            {name: getattr(a, name) for name in ALIKE}
            | {
                "input_hash": sha256(written(a.args).encode()).digest(),
                "result_hash": None,
                "approval_id": a.approval,
            }
        )
        for a in rows
    ]

    def mark(at: datetime) -> None:
        for a in rows:
            key = reading.activity_key(a)
            saved = tables.activities[key]
            tables.activities[key] = replace(saved, state="unknown", error=why, finished_at=at)

    return Away(
        [effect.event(actor, why) for effect in effects],
        as_json(effects),
        sentence([effect.tool for effect in effects]),
        mark,
    )
