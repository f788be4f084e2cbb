"""The note in PostgreSQL about a thread's stream in the hot store."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from .rows import rows


@dataclass(frozen=True, slots=True)
class HotStreamRow:
    """A lease's note of its stream, with the newest checkpoint that it reported as acknowledged.

    `is_cut_off`: what the hot store still holds of the thread is dropped.
    """

    token: UUID
    number: int
    reported_at: datetime
    is_cut_off: bool


def hot_stream(thread: UUID) -> HotStreamRow | None:
    """The note of a thread; None where the hot store holds nothing of it."""
    result = rows(
        "SELECT token, number, reported_at, is_cut_off FROM gp_hot_stream "
        "WHERE thread_id = %s::uuid",
        (thread,),
    )
    return HotStreamRow(*result[0]) if result else None
