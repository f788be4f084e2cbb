"""Row 5: the state at any step of a long thread, beside LangGraph's full copies in the same run."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.db import connection
from django.test.utils import CaptureQueriesContext

from checkpoints import queries
from checkpoints.queries.states import materialized

from .. import inside
from ..agents import growth
from ..ground import median
from ..peers import environment
from ..report import Measured
from ..servers import Bench

STEPS, SIZE, READS = 1_000, 1_000, 21


def thread_of(steps: int, size: int = SIZE) -> UUID:
    """A thread of so many steps."""
    return inside.play(growth, steps, input={"steps": steps, "size": size})


def queries_of_a_read(thread: UUID, number: int) -> int:
    """How many statements a read takes."""
    point = queries.checkpoint_by_number(thread, number)
    with CaptureQueriesContext(connection) as seen:
        queries.state_at(thread, point.id)
    return len(seen)


def places(steps: int) -> list[int]:
    """Where states are read: from a tenth of the way to its end."""
    return [steps // 10, steps // 4, steps // 2, steps * 3 // 4, steps]


def read_ms(thread: UUID, at: Sequence[int], reads: int = READS) -> dict[int, float]:
    """Medians of reading the state at these checkpoints, as pages and the API read it."""
    results = {}
    for number in at:
        point = queries.checkpoint_by_number(thread, number)
        if len(queries.state_at(thread, point.id)["log"]) != number:
            raise RuntimeError(f"the state at step {number} is not what was written")
        times = []
        for _ in range(reads):
            began = time.perf_counter()
            queries.state_at(thread, point.id)
            times.append(time.perf_counter() - began)
        results[number] = median(times) * 1e3
    return results


def measure(bench: Bench, scale: float) -> Measured:
    """The worst of the ratios; both sides read before and after each other."""
    steps = max(100, int(STEPS * scale))
    thread, at = thread_of(steps), places(steps)
    first = read_ms(thread, at)
    peer = environment.ask(bench, "langgraph_task", steps=steps, size=SIZE, at=at, reads=READS)
    second = read_ms(thread, at)
    theirs = {int(step): ms for step, ms in peer["read_ms"].items()}
    ours = {number: (first[number] + second[number]) / 2 for number in at}
    ratios = {number: ours[number] / theirs[number] for number in at}
    worst = max(ratios, key=lambda number: ratios[number])
    measured = Measured(
        {
            "queries": max(queries_of_a_read(thread, number) for number in at),
            "ratio": ratios[worst],
        }
    )
    measured.baselines["ratio"] = round(theirs[worst], 3)
    measured.ratios["ratio"] = ratios[worst]
    measured.details["read_ms"] = {
        str(number): {"ours": round(ours[number], 3), "langgraph": round(theirs[number], 3)}
        for number in at
    }
    measured.details["worst_at_step"] = worst
    measured.details["peer"] = _versions(peer)
    measured.details["rows_read"] = _rows(thread, steps)
    return measured


def _versions(peer: dict[str, Any]) -> str:
    return f"LangGraph, one full copy per step, {round(peer['bytes'] / 1e6)} MB"


def _rows(thread: UUID, number: int) -> int:
    point = queries.checkpoint_by_number(thread, number)
    return materialized.materialise(thread, point.id).deltas_read
