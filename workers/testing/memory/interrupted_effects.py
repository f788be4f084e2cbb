"""Effects of a book that had started when their thread was taken away, as in the store."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from hashlib import sha256
from typing import Any
from uuid import UUID

from checkpoints.store import NewEvent
from checkpoints.store.interrupted_effects import Underway, sentence, told

from . import reads as reading
from .book import Book, written


@dataclass(frozen=True, slots=True)
class Away:
    """What goes with a change that takes a thread away; `mark` enters it at the book's time."""

    events: list[NewEvent] = field(default_factory=list)
    told: dict[str, Any] = field(default_factory=dict)
    reason: str = ""
    mark: Callable[[datetime], None] = lambda _: None


def taken_away(book: Book, thread: UUID, *, actor: str, how: str) -> Away:
    """The thread's effects that have started and not ended become unknown with the change."""
    why = f"The thread was {how} while this was under way; whether it happened is unknown."
    rows = [
        a for a in reading.activities(book, thread) if a.kind == "effect" and a.state == "started"
    ]
    effects = [
        Underway(
            {
                "id": a.id,
                "branch": a.branch,
                "step": a.step,
                "node": a.node,
                "index": a.index,
                "key": a.key,
                "revision": a.revision,
                "kind": a.kind,
                "tool": a.tool,
                "input_hash": sha256(written(a.args).encode()).digest(),
                "result_hash": None,
                "attempts": a.attempts,
                "usage": a.usage,
                "idempotency_key": a.idempotency_key,
                "undo": a.undo,
                "approval_id": a.approval,
            }
        )
        for a in rows
    ]

    def mark(at: datetime) -> None:
        for a in rows:
            place = reading.place(a)
            kept = book.activities[place]
            book.activities[place] = replace(kept, state="unknown", error=why, finished_at=at)

    return Away(
        [effect.event(actor, why) for effect in effects],
        told(effects),
        sentence([effect.tool for effect in effects]),
        mark,
    )
