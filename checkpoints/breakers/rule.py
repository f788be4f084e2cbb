"""Breakers: the one rule which threads an open one stops, and the rows that it is read into.

Claims of threads, doorbells, explanations and boards share the rule.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Final
from uuid import UUID

from pydantic import Field

from ..postgres.sql_files import sql_file
from ..selections import STOPPED_BY_FIELDS
from ..state import deltas

SQL: Final = sql_file(__file__, fields=STOPPED_BY_FIELDS)
# Pieces for statements over a breaker b and a thread th.
SELECTED: Final = SQL.selected
STOPS: Final = SQL.stops
ORDINAL: Final = SQL.ordinal
TAKEABLE: Final = SQL.takeable
# For thread th: no rows unless an open breaker stops it; the oldest of these, as JSON.
STOPPED_BY: Final = SQL.stopped_by
STOPPED: Final = SQL.stopped
# All open ones of a workspace, as JSON.
OPEN_ONES: Final = SQL.open_ones


@dataclass(frozen=True, slots=True)
class BreakerRow:
    """A breaker; `selection` as the board's filter says it, empty for the whole workspace.

    Threads whose ordinal is below `released_to` continue. `releases` counts the releases.
    """

    id: UUID
    selection: Mapping[str, Any]
    reason: str
    opened_by: str
    opened_at: datetime
    released_to: Annotated[int, Field(exclude=True)]
    releases: int
    released_at: datetime | None
    released_by: str
    closed_at: datetime | None

    @property
    def is_open(self) -> bool:
        """True while it stops threads, also where some are released."""
        return self.closed_at is None


@dataclass(frozen=True, slots=True)
class StoppedRow:
    """The breaker that stops a thread: why, who opened it, since when."""

    id: UUID
    reason: str
    by: str
    at: datetime

    @property
    def sentence(self) -> str:
        """The reason of the standstill."""
        reason = " ".join(self.reason.split())
        return f"A breaker stops it: {reason}{'' if reason.endswith(('.', '!', '?')) else '.'}"


def stopped_row(text: str | None) -> StoppedRow | None:
    """The answer of STOPPED."""
    if text is None:
        return None
    row = deltas.decode(text)
    at = datetime.fromisoformat(row["at"])
    return StoppedRow(UUID(row["id"]), row["reason"], row["by"], at)


def open_breakers(text: str | None) -> list[BreakerRow]:
    """The answer of OPEN_ONES."""
    return [
        BreakerRow(
            UUID(row["id"]),
            row["selection"],
            row["reason"],
            row["opened_by"],
            datetime.fromisoformat(row["opened_at"]),
            row["released_to"],
            row["releases"],
            datetime.fromisoformat(row["released_at"]) if row["released_at"] else None,
            row["released_by"],
            None,
        )
        for row in (deltas.decode(text) if text else ())
    ]
