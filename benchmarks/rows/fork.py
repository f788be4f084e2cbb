"""Row 6: a fork from the middle of threads of several lengths."""

from __future__ import annotations

import time
from typing import Any
from uuid import UUID

from checkpoints import queries, store

from .. import inside
from ..budgets import F2_MS
from ..ground import median
from ..report import Measured
from ..servers import Bench
from .baseline import RawInserts
from .state import thread_of

LENGTHS, SIZE = (100, 1_000, 10_000), 500
# In some tenths of a second a shared processor is away: the middle of more than those have.
ROUNDS = 201


def forked(thread: UUID, number: int, **changes: Any) -> UUID:
    """A fork from the checkpoint of this number."""
    point = queries.checkpoint_by_number(thread, number)
    return store.fork(thread, checkpoint=point.id, changes=changes, actor="bench:1")


def fork_ms(thread: UUID, number: int, rounds: int = ROUNDS, **changes: Any) -> float:
    """The median of several forks in milliseconds, each committed."""
    point = queries.checkpoint_by_number(thread, number)
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        store.fork(thread, checkpoint=point.id, changes=changes, actor="bench:1")
        times.append(time.perf_counter() - began)
    return median(times) * 1e3


def written(thread: UUID, number: int, rounds: int = 1_000) -> tuple[float, float]:
    """(write transactions, bytes in all tables and their indexes) of one fork.

    Tables grow by whole pages: so many forks that those do not show.
    """
    xids, stored = inside.counted(inside.XMAX), inside.counted(inside.STORED)
    for _ in range(rounds):
        forked(thread, number)
    xids, stored = inside.counted(inside.XMAX) - xids, inside.counted(inside.STORED) - stored
    return xids / rounds, stored / rounds


def measure(bench: Bench, scale: float) -> Measured:
    """Milliseconds of the slowest thread's fork; the others, and a raw INSERT, are beside it."""
    measured = Measured({"write_transactions": 0.0, "bytes": 0.0, "ms_f0": 0.0})
    more: list[tuple[float, float]] = []
    for length in LENGTHS:
        steps = max(50, int(length * scale))
        thread = thread_of(steps, SIZE)
        inside.analyse()
        fork_ms(thread, steps // 2, 10)
        raw = RawInserts.like_last_step(bench, thread)
        with bench.without_autovacuum():
            xids, size = written(thread, steps // 2)
        payload: dict[str, Any] = {"steps": steps, "write_transactions": xids, "bytes": round(size)}
        for name, flush in (("f0", 0.0), ("f2", F2_MS)):
            bench.flush_takes(flush)
            # That is a rest: processors and sessions are slower for some twenty forks after it.
            fork_ms(thread, steps // 2, 20)
            ms = fork_ms(thread, steps // 2)
            inserted = median([raw.timed_insert() for _ in range(ROUNDS)]) * 1e3
            payload[f"ms_{name}"], payload[f"raw_ms_{name}"] = round(ms, 3), round(inserted, 3)
            if name == "f2":
                more.append((ms - inserted, inserted))
            elif ms > measured.values["ms_f0"]:
                measured.values["ms_f0"] = ms
                measured.baselines["ms_f0"] = round(inserted, 3)
        bench.flush_takes(0)
        raw.close()
        fork_ms(thread, steps // 2, 20, size=1)
        payload["ms_f0_with_a_change"] = round(fork_ms(thread, steps // 2, size=1), 3)
        measured.values["write_transactions"] = max(measured.values["write_transactions"], xids)
        measured.values["bytes"] = max(measured.values["bytes"], size)
        measured.details[f"length_{length}"] = payload
    measured.values["more_ms_f2"], inserted = max(more)
    measured.baselines["more_ms_f2"] = round(inserted, 3)
    return measured
