"""Recorded work that was not repeated, as `checkpoints.queries.savings` counts it."""

from __future__ import annotations

from decimal import Decimal
from typing import Any
from uuid import UUID

from checkpoints.limits import CRASHES_ALLOWED
from checkpoints.queries import savings
from checkpoints.states import Status
from checkpoints.views import ActivityRow, SavedRow

from . import reads as reading
from .tables import MemoryTables, Row

KINDS = ("activity", "model", "effect")


def faulty(row: Row) -> bool:
    """Answer True if a retry ends a fault of a worker or a step."""
    crashed = row.status is Status.ATTENTION and row.crash_count >= CRASHES_ALLOWED
    return row.status is Status.FAILED or crashed


def as_json(tables: MemoryTables, thread: UUID) -> dict[str, Any]:
    """The saved work, as the event that ends a fault records it: all on the path to the head."""
    tops: dict[int, int] = {}
    row = tables.row(thread)
    for owner, saved in reading.path(tables, thread, row.head):
        if owner != thread:
            break
        tops.setdefault(saved.new.branch, saved.new.step + (saved.new.branch == row.branch))
    newest: dict[tuple[Any, ...], ActivityRow] = {}
    for a in reading.activities(tables, thread):
        if a.kind in KINDS and a.step <= tops.get(a.branch, -1):
            position = (a.branch, a.step, a.node, a.index, a.key)
            if position not in newest or newest[position].revision < a.revision:
                newest[position] = a
    done = [a for a in newest.values() if a.state == "done"]
    used = [(a, a.usage or {}) for a in done]
    used = [(a, usage) for a, usage in used if "reused_from" not in usage]
    return savings.as_json(
        SavedRow(
            1,
            len(used),
            sum(a.kind == "model" for a, _ in used),
            sum(usage.get("tokens", 0) for _, usage in used),
            plain(sum((Decimal(usage.get("cost", "0")) for _, usage in used), Decimal(0))),
            sum(usage.get("milliseconds", 0) for _, usage in used),
            sum("unpriced" in usage for _, usage in used),
        )
    )


def plain(cost: Decimal) -> str:
    """An amount without zeros at its end."""
    text = f"{cost:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
