"""Figures of the whole installation for monitoring: bounded statements, every workspace counts.

Counts stop at COUNT_CAP per workspace and status, those of events at EVENT_CAP: an index answers
each, whatever the size of the tables. Ages are seconds by the database's clock.
"""

from __future__ import annotations

from dataclasses import dataclass

from checkpoints.states import EventKind, Status

from ..rows import rows
from ..threads import COUNT_CAP
from .live_code import NOT_AHEAD, WORKER_ALIVE_SECONDS

WORKSPACES, QUEUES = 1_000, 200
EVENT_CAP = 100_000
# The index gp_event_rare holds these kinds and those of `savings` (migration 0019).
FAULTS = (EventKind.LEASE_TAKEN_OVER, EventKind.STEP_FENCED)

# In the order of their indexes: otherwise the planner hopes to meet enough of them sooner by
# reading the whole table, which is so only while they are many.
_STATUSES = """
SELECT s.status, coalesce(sum(found.n), 0)::bigint FROM unnest(%s::text[]) AS s(status)
LEFT JOIN (SELECT id FROM gp_workspace ORDER BY id LIMIT %s) w ON true
LEFT JOIN LATERAL (SELECT count(*) AS n FROM (SELECT 1 FROM gp_thread th
  WHERE th.workspace_id = w.id AND th.status = s.status
  ORDER BY th.status_since DESC, th.id DESC LIMIT %s) x) found ON true
GROUP BY s.status
"""
_QUEUES = """
SELECT q.queue, (SELECT count(*) FROM (SELECT 1 FROM gp_thread th
  WHERE th.queue = q.queue AND th.status = 'queued'
  ORDER BY th.status_since LIMIT %s) x),
  coalesce((SELECT extract(epoch FROM clock_timestamp() - th.status_since)::float8
  FROM gp_thread th WHERE th.queue = q.queue AND th.status = 'queued'
  ORDER BY th.status_since LIMIT 1), 0)
FROM (SELECT queue FROM gp_agent_version WHERE imported_into IS NULL
  UNION SELECT 'gatepost' ORDER BY 1 LIMIT %s) q
"""
_FAULTS = " UNION ALL ".join(
    f"SELECT '{kind}', count(*) FROM (SELECT 1 FROM gp_event WHERE kind = '{kind}' LIMIT %s) x"
    for kind in FAULTS
)
# Readers across threads go by (xid8, id) and stay below every transaction that may still commit.
# What is committed beyond that line is in its order on the index; the first of it waits longest.
_HORIZON = """
SELECT coalesce((SELECT greatest(extract(epoch FROM clock_timestamp() - e.at)::float8, 0)
  FROM gp_event e WHERE e.xid8 >= pg_snapshot_xmin(pg_current_snapshot())
  ORDER BY e.xid8, e.thread_id, e.seq LIMIT 1), 0)
"""
# What was accepted and is not yet part of its thread, where somebody could take it: a thread that
# rests takes its messages when it goes on, and one in a queue waits with the queue.
_UNDRAINED = """
SELECT coalesce(max(greatest(extract(epoch FROM clock_timestamp() - news.since)::float8, 0)), 0)
FROM (SELECT th.id FROM gp_workspace ws JOIN LATERAL (SELECT id FROM gp_thread
  WHERE workspace_id = ws.id AND status = 'running'
  ORDER BY status_since DESC, id DESC LIMIT 10001) th ON true) running
JOIN LATERAL (SELECT min(w.created_at) AS since FROM gp_wake w
  WHERE w.thread_id = running.id) news ON news.since IS NOT NULL
"""
_DAMAGED = """
SELECT (SELECT count(*) FROM (SELECT 1 FROM gp_verification WHERE NOT intact LIMIT 10001) k)
  + (SELECT count(*) FROM gp_workspace_verification WHERE NOT intact)
"""
# A workspace that was never verified as a whole counts from its birth.
_UNVERIFIED = f"""
SELECT coalesce(max(extract(epoch FROM clock_timestamp()
  - coalesce(k.completed_at, w.created_at))::float8), 0)
FROM (SELECT id, created_at FROM gp_workspace ORDER BY id LIMIT {WORKSPACES}) w
LEFT JOIN gp_workspace_verification k ON k.workspace_id = w.id
"""
_FLEET = f"""
SELECT (SELECT count(*) FROM gp_worker w WHERE w.stopped_at IS NULL AND w.seen_at > c.then
   AND w.{NOT_AHEAD}),
  (SELECT coalesce(sum(w.slots), 0) FROM gp_worker w
   WHERE w.stopped_at IS NULL AND w.seen_at > c.then AND w.{NOT_AHEAD}),
  (SELECT greatest(extract(epoch FROM clock_timestamp() - d.until)::float8, 0)
   FROM gp_duty d WHERE d.name = 'sweep'),
  coalesce((SELECT greatest(extract(epoch FROM clock_timestamp() - th.wake_at)::float8, 0)
   FROM gp_thread th WHERE th.status = 'sleeping' ORDER BY th.wake_at LIMIT 1), 0),
  ({_HORIZON}), ({_UNDRAINED}),
  (SELECT count(*) FROM (SELECT 1 FROM gp_set_aside LIMIT 10000) x),
  (SELECT coalesce(sum(w.messages_refused), 0)::bigint FROM gp_worker w),
  ({_DAMAGED}), ({_UNVERIFIED})
FROM (SELECT clock_timestamp() - make_interval(secs => %s) AS then) c
"""


@dataclass(frozen=True, slots=True)
class QueueFigures:
    """How many threads wait in a queue, and for how long the first of them has."""

    queue: str
    threads: int
    oldest_seconds: float


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
    statuses = rows(_STATUSES, ([str(s) for s in Status], WORKSPACES, COUNT_CAP + 1))
    queues = rows(_QUEUES, (COUNT_CAP + 1, QUEUES))
    faults = dict(rows(_FAULTS, [EVENT_CAP] * len(FAULTS)))
    workers, slots, unswept, *more = rows(_FLEET, (WORKER_ALIVE_SECONDS,))[0]
    return Figures(
        {Status(s): n for s, n in statuses},
        tuple(QueueFigures(*row) for row in queues),
        faults[str(EventKind.LEASE_TAKEN_OVER)],
        faults[str(EventKind.STEP_FENCED)],
        workers,
        int(slots),
        unswept,
        *more,
    )
