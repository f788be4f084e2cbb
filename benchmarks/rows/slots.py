"""Row 16: many threads on 32 slots of one worker, beside as many workflows of DBOS.

The slots that count are processes, as they are by default; one slot, and 32 threads of one process,
are printed beside them.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.db import connection

from .. import parts
from ..budgets import F2_MS
from ..ground import median, start
from ..peers import environment
from ..report import Measured
from ..servers import Bench
from .cpu_time import CpuTime

SLOTS, ROUNDS = 32, 3
STEPS, SIZE = 100, 1_000
WORKERS = {"one": (1, "prefork"), "prefork": (SLOTS, "prefork"), "threads": (SLOTS, "threads")}
# As many as keep the slots at work for some seconds.
THREADS = {1: {"f0": 32, "f2": 12}, SLOTS: {"f0": 128, "f2": 128}}
FLUSHES = {"f0": 0.0, "f2": F2_MS}
# Python runs on one core at a time, and two are what the row is for.
PEER_PROCESSES = 2

_ENDED = """
SELECT count(*) FILTER (WHERE status = 'succeeded'),
  count(*) FILTER (WHERE status IN ('failed', 'cancelled', 'attention'))
FROM gp_thread WHERE id = ANY(%s::uuid[])
"""
_TIMES = """
SELECT count(*) FILTER (WHERE kind = 'checkpoint.committed'),
  extract(epoch FROM max(at) - min(at) FILTER (WHERE kind = 'lease.acquired'))::float8
FROM gp_event WHERE thread_id = ANY(%s::uuid[])
"""


def play(threads: int, steps: int, *, seconds: float = 300) -> list[UUID]:
    """Start threads one after the other and wait until all have succeeded."""
    ids = [start("bench-growing", steps=steps, size=SIZE) for _ in range(threads)]
    deadline = time.monotonic() + seconds
    while True:
        with connection.cursor() as cursor:
            cursor.execute(_ENDED, (ids,))
            succeeded, ended_otherwise = cursor.fetchone()
        if succeeded == threads:
            return ids
        if ended_otherwise:
            raise RuntimeError(f"{ended_otherwise} of {threads} threads ended otherwise")
        if time.monotonic() > deadline:
            raise TimeoutError(f"{threads - succeeded} threads still work after {seconds} s")
        time.sleep(0.1)


def rate(ids: Sequence[UUID], steps: int) -> float:
    """Committed steps per second, from the first lease to the last event, as the log has them."""
    with connection.cursor() as cursor:
        cursor.execute(_TIMES, (list(ids),))
        count, seconds = cursor.fetchone()
    if count != len(ids) * steps:
        raise RuntimeError(f"{count} steps are committed, {len(ids) * steps} were made")
    return float(count / seconds)


def measure(bench: Bench, scale: float) -> Measured:
    """The workers and DBOS in turn, each at both flushes.

    Each rate is the median of the rounds, so that a slow minute of the machine meets all of them.
    """
    steps = max(20, int(STEPS * scale))
    peers: list[dict[str, Any]] = []
    rates: dict[tuple[str, str], list[float]] = {}
    times: dict[tuple[str, str], list[dict[str, float]]] = {}
    try:
        for _ in range(max(1, round(ROUNDS * min(1.0, scale * 2)))):
            for kind, (slots, pool) in WORKERS.items():
                with parts.worker(bench, slots=slots, pool=pool) as worker:
                    play(slots * 2, 30)
                    for name, flush in FLUSHES.items():
                        bench.flush_takes(flush)
                        before = CpuTime.read(bench, worker)
                        ids = play(THREADS[slots][name], steps)
                        used = CpuTime.read(bench, worker).since(before)
                        rates.setdefault((kind, name), []).append(rate(ids, steps))
                        times.setdefault((kind, name), []).append(used.per(len(ids) * steps))
                    bench.flush_takes(0)
            peers.append(_peer(bench, steps))
        measured = Measured({})
        for name in FLUSHES:
            one, many = median(rates["one", name]), median(rates["prefork", name])
            if not any("error" in peer for peer in peers):
                beside = median([peer[name] for peer in peers])
                ratio = many / beside
                measured.values[f"ratio_{name}"] = measured.ratios[f"ratio_{name}"] = ratio
                measured.baselines[f"ratio_{name}"] = beside
            measured.details[f"timing_{name}"] = {
                kind: _figures(rates[kind, name], times[kind, name], one) for kind in WORKERS
            }
        measured.details |= {"threads": THREADS[SLOTS], "steps": steps, "dbos": peers}
    finally:
        bench.flush_takes(0)
    return measured


def _figures(
    rates: Sequence[float], times: Sequence[dict[str, float]], one: float
) -> dict[str, Any]:
    return {
        "steps_per_second": round(median(rates), 1),
        "ratio": round(median(rates) / one, 2),
        "best": round(max(rates), 1),
        "cpu_ms_per_step": {part: round(median([t[part] for t in times]), 3) for part in times[0]},
    }


def _peer(bench: Bench, steps: int) -> dict[str, Any]:
    """Steps per second of as many workflows of DBOS; why not, where it cannot be installed."""
    results: dict[str, Any] = {}
    try:
        for name, flush in FLUSHES.items():
            bench.flush_takes(flush)
            result = environment.ask(
                bench,
                "dbos_many_task",
                steps=steps,
                size=SIZE,
                workflows=THREADS[SLOTS][name],
                slots=SLOTS,
                processes=PEER_PROCESSES,
            )
            results[name] = round(result["steps_per_second"], 1)
    except RuntimeError as error:
        return {"error": str(error)}
    finally:
        bench.flush_takes(0)
    return results
