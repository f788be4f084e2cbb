"""Row 9: from a start's commit to the first line of the first node, by the database's clock."""

from __future__ import annotations

import time
from uuid import UUID

from django.db import connection

from checkpoints import queries
from checkpoints.states import Status

from .. import handicap, parts
from ..budgets import F2_MS
from ..ground import percentile, start, wait_for, workspace
from ..report import Measured
from ..servers import Bench

STARTS = 60


def event_time(thread: UUID, kind: str) -> float:
    """When the newest event of a kind was written, in seconds by the database's clock."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT extract(epoch FROM at)::float8 FROM gp_event WHERE thread_id = %s::uuid "
            "AND kind = %s::text ORDER BY seq DESC LIMIT 1",
            (thread, kind),
        )
        return float(cursor.fetchone()[0])


def head_state(thread: UUID) -> dict[str, float]:
    """The state that a thread has now."""
    return queries.state_at(thread, queries.thread(thread, workspace=workspace()).head)


def measure(bench: Bench, scale: float) -> Measured:
    """Starts one at a time, the worker idle before each.

    The event of a start is timed before its flush, so the flush of F is taken off: the clock runs
    from the commit. At F=0 nothing is taken off.
    """
    handicap.install()
    measured = Measured({})
    with parts.worker(bench):
        for _ in range(parts.SLOTS * 4):
            wait_for(start("bench-asking"), Status.WAITING)
        try:
            for name, flush in (("f0", 0.0), ("f2", F2_MS)):
                bench.flush_takes(flush)
                waits = []
                for _ in range(max(8, int(STARTS * scale))):
                    time.sleep(0.02)
                    thread = start("bench-asking")
                    wait_for(thread, Status.WAITING, first_after=0.02)
                    began = head_state(thread)["began"]
                    waits.append((began - event_time(thread, "thread.started")) * 1000 - flush)
                measured.values[f"p50_{name}"] = percentile(waits, 0.5)
                measured.details[f"timing_{name}"] = {
                    "p95_ms": round(percentile(waits, 0.95), 2),
                    "best_ms": round(min(waits), 2),
                    "starts": len(waits),
                    "flush_taken_off_ms": flush,
                }
        finally:
            bench.flush_takes(0)
    return measured
