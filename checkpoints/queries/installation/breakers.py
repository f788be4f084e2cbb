"""Breakers: all of a workspace, what a selection touches, how the threads of open ones stand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

from checkpoints.agent_versions import EXTERNAL_QUEUE
from checkpoints.breakers.rule import ORDINAL, SELECTED, TAKEABLE, BreakerRow
from checkpoints.errors import NotFound
from checkpoints.postgres.sql_files import sql_file
from checkpoints.state import deltas
from checkpoints.states import LIVE, Status

from ..rows import rows

_COLUMNS = (
    "b.id, b.selection::text, b.reason, b.opened_by, b.opened_at, b.released_to, b.releases, "
    "b.released_at, b.released_by, b.closed_at"
)
SQL: Final = sql_file(
    __file__,
    external=EXTERNAL_QUEUE,
    columns=_COLUMNS,
    selected=SELECTED,
    ordinal=ORDINAL,
    takeable=TAKEABLE,
)
LISTED_MAX: Final = 100


@dataclass(frozen=True, slots=True)
class Touched:
    """Unfinished threads of a selection by status; `elsewhere` are those of external agents."""

    statuses: Mapping[Status, int]
    elsewhere: int

    @property
    def total(self) -> int:
        """All of them."""
        return sum(self.statuses.values())


@dataclass(slots=True)
class BreakerThreads:
    """Threads of an open breaker, by its effect on them.

    `stopped`: queued until the release. `at_work`: their workers end what they are doing. `waits`:
    for something else; they stop when that comes. `released` by status, since the newest release.
    """

    stopped: int = 0
    at_work: int = 0
    waits: int = 0
    released: dict[str, int] = field(default_factory=dict)


def breakers(workspace: UUID) -> list[BreakerRow]:
    """Breakers of a workspace, open ones first, then the newest; at most LISTED_MAX."""
    return [_row(row) for row in rows(SQL.breakers, (workspace, LISTED_MAX))]


def breaker(breaker_id: UUID, *, workspace: UUID) -> BreakerRow:
    """One breaker; NotFound also for those of other workspaces."""
    result = rows(SQL.breaker, (workspace, breaker_id))
    if not result:
        raise NotFound("There is no such breaker in this workspace.")
    return _row(result[0])


def _row(row: tuple[Any, ...]) -> BreakerRow:
    return BreakerRow(row[0], deltas.decode(row[1]), *row[2:])


def touched(workspace: UUID, selection: Mapping[str, Any]) -> Touched:
    """Count the unfinished threads of a selection, paused ones included."""
    body = deltas.canonical(dict(selection)).decode()
    result = rows(SQL.touched, (body, workspace, [str(status) for status in LIVE]))
    statuses = {Status(status): n for status, n, _ in result}
    return Touched(statuses, sum(elsewhere for _, _, elsewhere in result))


def breaker_progress(workspace: UUID) -> dict[UUID, BreakerThreads]:
    """{breaker: its threads by part} for each open one of the workspace that has threads."""
    results: dict[UUID, BreakerThreads] = {}
    live = [str(status) for status in LIVE]
    for ident, status, part, n in rows(SQL.progress, (live, workspace, live)):
        row = results.setdefault(ident, BreakerThreads())
        if part == "released":
            row.released[Status(status)] = n
        else:
            setattr(row, part, getattr(row, part) + n)
    return results
