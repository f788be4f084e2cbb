"""Row 2: a whole thread of 1,000 steps, through Celery and the worker's own advance."""

from __future__ import annotations

from uuid import UUID

from django.db import connection

from checkpoints.states import Status

from .. import parts
from ..budgets import F2_MS
from ..ground import median, start, wait_for
from ..report import Measured
from ..servers import Bench
from .baseline import RawInserts

STEPS, SIZE = 1_000, 1_000

_TIMES = """
SELECT (SELECT count(*) FROM gp_checkpoint WHERE thread_id = %s::uuid AND source = 'step'),
  extract(epoch FROM max(at) - min(at))::float8,
  extract(epoch FROM max(at) - min(at) FILTER (WHERE kind = 'lease.acquired'))::float8
FROM gp_event WHERE thread_id = %s::uuid
"""


def play(steps: int, size: int, *, seconds: float = 300) -> UUID:
    """Start a thread and wait until it has succeeded."""
    thread = start("bench-growing", steps=steps, size=size)
    # Timed by the events' own clock, so a late look costs nothing and each look would.
    wait_for(thread, Status.SUCCEEDED, seconds=seconds, first_after=steps / 5_000, every=0.1)
    return thread


def times(thread: UUID) -> tuple[int, float, float]:
    """(committed steps, seconds from start to last event, from the first lease to last event)."""
    with connection.cursor() as cursor:
        cursor.execute(_TIMES, (thread, thread))
        count, whole, leased = cursor.fetchone()
    return int(count), float(whole), float(leased)


def measure(bench: Bench, scale: float) -> Measured:
    """Threads and as many raw INSERTs in turn; steps per second from start to end by the clock."""
    steps = max(50, int(STEPS * scale))
    measured = Measured({})
    with parts.worker(bench):
        for _ in range(parts.SLOTS * 2):
            warm = play(60, SIZE)
        raw = RawInserts.like_last_step(bench, warm)
        try:
            raw.rate(200)
            for name, flush, rounds in (("f0", 0.0, 5), ("f2", F2_MS, 2)):
                bench.flush_takes(flush)
                rates, inserts, working = [], [], []
                for _ in range(rounds):
                    inserts.append(raw.rate(steps // 2))
                    count, whole, leased = times(play(steps, SIZE))
                    inserts.append(raw.rate(steps // 2))
                    if count != steps:
                        raise RuntimeError(f"{count} steps are committed, {steps} were made")
                    rates.append(count / whole)
                    working.append(count / leased)
                rate, baseline = median(rates), median(inserts)
                measured.values[f"rate_{name}"] = rate / baseline
                measured.baselines[f"rate_{name}"] = round(baseline, 1)
                measured.ratios[f"rate_{name}"] = rate / baseline
                measured.details[f"timing_{name}"] = {
                    "steps_per_second": round(rate, 1),
                    "best": round(max(rates), 1),
                    "after_the_lease": round(median(working), 1),
                    "raw_per_second": round(baseline, 1),
                    "threads": rounds,
                    "committed_steps": steps,
                }
        finally:
            bench.flush_takes(0)
            raw.close()
    return measured
