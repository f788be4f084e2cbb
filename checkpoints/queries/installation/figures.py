"""Figures of the whole installation for monitoring: bounded statements, every workspace counts.

Counts stop at COUNT_CAP per workspace and status, those of events at EVENT_CAP: an index answers
each, whatever the size of the tables. Ages are seconds by the database's clock.
"""

from __future__ import annotations

from dataclasses import dataclass

from checkpoints.postgres.named_rows import fetch_named
from checkpoints.postgres.sql_files import sql_file
from checkpoints.states import EventKind, Status
from checkpoints.tables.readers import record_of

from ..search.counts import COUNT_CAP
from .live_code import NOT_AHEAD, WORKER_ALIVE_SECONDS

WORKSPACES, QUEUES = 1_000, 200
EVENT_CAP = 100_000
# The index gp_event_rare holds these kinds and those of `savings` (migration lost_steps).
FAULTS = (EventKind.LEASE_TAKEN_OVER, EventKind.STEP_FENCED, EventKind.STEPS_LOST)
SQL = sql_file(__file__, workspaces=str(WORKSPACES), not_ahead=NOT_AHEAD)
_FAULTS = " UNION ALL ".join(
    f"SELECT '{kind}' AS kind, count(*) AS events "
    f"FROM (SELECT 1 FROM gp_event WHERE kind = '{kind}' LIMIT %s) x"
    for kind in FAULTS
)


@dataclass(frozen=True, slots=True)
class QueueFigures:
    """The number of threads that wait in a queue, and the seconds that the oldest has waited.

    `working` are those that a worker has begun and not left, also one that is gone.
    """

    queue: str
    threads: int
    oldest_seconds: float
    working: int


@dataclass(frozen=True, slots=True)
class Figures:
    """One reading. `unswept_seconds` is None before the first sweep of an installation.

    `horizon_seconds` is how far readers across threads have to stay behind: the age of the oldest
    committed event that an open transaction, of whomever and in whatever database of the server,
    still keeps from them. `undrained_seconds` is the age of the oldest message that a working
    thread has been sent and has not taken. `unverified_seconds` is how long ago everything of a
    workspace was last verified, of the one where that is longest ago.
    """

    statuses: dict[Status, int]
    queues: tuple[QueueFigures, ...]
    takeovers: int
    fenced: int
    losses: int
    workers: int
    slots: int
    unswept_seconds: float | None
    timer_late_seconds: float
    horizon_seconds: float
    undrained_seconds: float
    rows_set_aside: int
    messages_refused: int
    damaged: int
    unverified_seconds: float


def figures() -> Figures:
    """Read them all: four statements."""
    statuses = fetch_named(SQL.statuses, ([str(s) for s in Status], WORKSPACES, COUNT_CAP + 1))
    queues = fetch_named(SQL.queues, (WORKSPACES, COUNT_CAP + 1, COUNT_CAP + 1, QUEUES))
    faults = {row.kind: row.events for row in fetch_named(_FAULTS, [EVENT_CAP] * len(FAULTS))}
    (fleet,) = fetch_named(SQL.fleet, (WORKER_ALIVE_SECONDS,))
    return Figures(
        statuses={Status(row.status): row.threads for row in statuses},
        queues=tuple(record_of(QueueFigures, row) for row in queues),
        takeovers=faults[str(EventKind.LEASE_TAKEN_OVER)],
        fenced=faults[str(EventKind.STEP_FENCED)],
        losses=faults[str(EventKind.STEPS_LOST)],
        **fleet._asdict(),
    )
