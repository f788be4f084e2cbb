"""The columns of a thread's row that steer it, as events record them; pure.

The first event of a thread records all that is not default (`row`), also the event of an import.
Events of former versions do not record it: such a thread is compared without these columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Final
from uuid import UUID

from ..state import deltas
from ..states import EventKind

USUAL: Final[dict[str, Any]] = {
    "name": None,
    "queue": "gatepost",
    "labels": {},
    "pause_at": "",
    "effects": "run",
    "parent": None,
    "root": None,
    "depth": 0,
    "automatic_title": False,
}
# A worker that pauses a thread takes the node away that somebody wanted it to stop before.
CLEARED: Final = {"pause_at": ""}


def event_of(
    *,
    name: str | None = None,
    queue: str,
    labels: Mapping[str, Any] | None = None,
    pause_at: str = "",
    effects: str = "run",
    parent: UUID | None = None,
    root: UUID | None = None,
    depth: int = 0,
    automatic_title: bool = False,
    title: str | None = None,
) -> dict[str, Any]:
    """The part of a thread's row that its first event records; defaults are left out.

    `title` only where the event has no title of its own.
    """
    row = {
        "name": name,
        "queue": queue,
        "labels": dict(labels or {}),
        "pause_at": pause_at,
        "effects": effects,
        "parent": None if parent is None else str(parent),
        "root": None if root is None else str(root),
        "depth": depth,
        "automatic_title": automatic_title,
    }
    payload = {column: value for column, value in row.items() if value != USUAL[column]}
    return payload if title is None else payload | {"title": title}


def leaving(
    by: EventKind, *, reason: str, data: Mapping[str, Any] | None = None, waiting_on: Any = None
) -> dict[str, Any]:
    """Build the payload of the event with which a worker leaves its thread."""
    payload: dict[str, Any] = {"reason": reason} if reason else {}
    payload |= data or {}
    if by is EventKind.THREAD_PAUSED:
        payload |= CLEARED
    if waiting_on is None:
        return payload
    if by is EventKind.THREAD_SUSPENDED:
        payload |= {"waits_for": _waits_for(waiting_on)}
    return payload | {"waiting_on": waiting_hash(waiting_on)}


def _waits_for(waiting_on: Mapping[str, Any]) -> dict[str, int]:
    """Count what a suspended thread waits for: requests to people, children of joins, signals."""
    joins = waiting_on.get("joins") or ()
    counts = {
        "requests": len(waiting_on.get("titles") or ()),
        "children": sum(join["of"] for join in joins),
        "needed": sum(join["need"] for join in joins),
        "signals": len(waiting_on.get("signals") or ()),
    }
    return {name: n for name, n in counts.items() if n}


def waiting_hash(waiting_on: Any) -> str:
    """Hash what a thread waits for: the event binds the hash, the row alone holds the value."""
    return sha256(b"gatepost-waiting-1" + deltas.canonical(waiting_on)).hexdigest()
