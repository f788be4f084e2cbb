"""Threads of one lane that failed alike, as one line: by the rule that makes incidents of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final
from uuid import UUID

from approvals.incidents.fingerprints import fingerprint
from approvals.incidents.queries import OpenIncident, open_incidents_of
from checkpoints.states import Status
from checkpoints.views import ThreadRow
from dashboard.fields.shapes import Lane

LEAST: Final = 3  # threads; fewer stand as they are
MOST: Final = 5  # groups of a lane, as many as board.css can fold
TROUBLED: Final = frozenset({str(Status.FAILED), str(Status.ATTENTION)})


@dataclass(frozen=True, slots=True)
class Alike:
    """Rows of a lane with the same trouble; `n` threads have it, or more where not `exact`.

    `mark` names the group in the page. `incident` has all of them, where there is one by now.
    """

    index: int
    mark: str
    n: int
    exact: bool
    rows: tuple[ThreadRow, ...]
    incident: UUID | None = None

    @property
    def first(self) -> ThreadRow:
        """The row whose reason stands for all."""
        return self.rows[0]


def grouped(
    lanes: Iterable[Lane],
    read: Mapping[str, Sequence[ThreadRow]],
    workspace: UUID,
    *,
    whole: bool,
) -> list[Lane]:
    """The lanes with groups of equal troubles; `read` holds more rows of each than it shows.

    On a `whole` board an incident says how many there are in all: one query for all groups.
    """
    results = [
        _of_lane(lane, read.get(lane.status, ()))
        if lane.status in TROUBLED
        else replace(lane, single=lane.rows)
        for lane in lanes
    ]
    first = [group.first.id for lane in results for group in lane.alike]
    known = open_incidents_of(first, workspace=workspace) if first else {}
    return [_counted(lane, known, whole=whole) for lane in results]


def _of_lane(lane: Lane, read: Sequence[ThreadRow]) -> Lane:
    shown: dict[tuple[str, str], list[ThreadRow]] = {}
    for row in lane.rows:
        if row.status_reason and not _chooses_code(row):
            shown.setdefault(_group_of(row), []).append(row)
    chosen = [key for key, rows in shown.items() if len(rows) >= LEAST][:MOST]
    alike = []
    for index, key in enumerate(chosen, 1):
        n = sum(_group_of(row) == key for row in read)
        is_exact = lane.total <= len(read)
        alike.append(Alike(index, key[1][:12], n, is_exact, tuple(shown[key])))
    folded = {row.id for group in alike for row in group.rows}
    single = tuple(row for row in lane.rows if row.id not in folded)
    return replace(lane, alike=tuple(alike), single=single)


def _counted(lane: Lane, known: Mapping[UUID, OpenIncident], *, whole: bool) -> Lane:
    alike = []
    for group in lane.alike:
        incident = known.get(group.first.id)
        if incident is not None:
            group = replace(group, incident=incident.id)
            if whole and not group.exact and incident.affected >= group.n:
                group = replace(group, n=incident.affected, exact=True)
        alike.append(group)
    return replace(lane, alike=tuple(alike)) if alike else lane


def _chooses_code(row: ThreadRow) -> bool:
    """Return whether the head of the lane already counts it among those that need a choice."""
    return isinstance(row.waiting_on, dict) and row.waiting_on.get("kind") == "code"


def _group_of(row: ThreadRow) -> tuple[str, str]:
    return row.agent, fingerprint(row.status_reason)
