"""Row 25: four hosts of 8 slots against one, with steps that wait 100 ms for a model; neighbours.

The hosts are workers with data folders of their own; they share PostgreSQL and Valkey. The model is
a server on this machine that sleeps and answers, so that slots are the limit and not its cores;
printed beside the ratio is what the slots allow and what the processor did meanwhile.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from unittest.mock import patch
from uuid import UUID

from django.db import connection

from .. import parts
from ..agents.model_calls import SERVER
from ..ground import clear, median, start
from ..report import Measured, tidy
from ..servers import Bench
from . import neighbours
from .cpu_time import CpuTime
from .sleeping_model import WAIT, model

HOSTS, SLOTS, ROUNDS = 4, 8, 3
SECONDS, SETTLED = 8.0, 3.0  # that are counted, and before them
ENDLESS = 100_000  # steps of a thread
AGENT = "benchmarks.agents.model_calls"
# Of what the slots allow, from which on they are called the limit; likewise of the cores.
REACHED = 0.8

_LEASED = """
SELECT count(*) FROM gp_thread
WHERE id = ANY(%s::uuid[]) AND status = 'running' AND lease_token IS NOT NULL
"""
_STEPS = """
SELECT count(*), extract(epoch FROM clock_timestamp())::float8 FROM gp_event
WHERE thread_id = ANY(%s::uuid[]) AND kind = 'checkpoint.committed'
"""


def cores_used() -> tuple[float, float]:
    """(seconds that the cores of this machine worked, seconds that they had), since its start."""
    with open("/proc/stat") as file:
        times = [int(field) for field in file.readline().split()[1:9]]
    return sum(times) - times[3] - times[4], sum(times)


def measure(bench: Bench, scale: float) -> Measured:
    """One host, then four, in turn; the medians of the rounds count."""
    rates: dict[int, list[float]] = {1: [], HOSTS: []}
    busy: dict[int, list[float]] = {1: [], HOSTS: []}
    times: dict[int, list[dict[str, float]]] = {1: [], HOSTS: []}
    with model() as address, patch.dict(os.environ, {SERVER: address}):
        for _ in range(max(1, round(ROUNDS * min(1.0, scale)))):
            with ExitStack() as stack:
                workers: list[int] = []
                for hosts in rates:
                    while len(workers) < hosts:
                        host = f"host-{len(workers) + 1}"
                        worker = parts.worker(bench, AGENT, slots=SLOTS, host=host)
                        workers.append(stack.enter_context(worker))
                    with working(hosts * SLOTS) as ids:
                        cores, before = cores_used(), CpuTime.read(bench, *workers)
                        count, seconds = committed(ids, max(2.0, SECONDS * min(1.0, scale)))
                        used = CpuTime.read(bench, *workers).since(before)
                        worked, had = (b - a for a, b in zip(cores, cores_used(), strict=True))
                    busy[hosts].append(worked / had)
                    times[hosts].append(used.per(count))
                    rates[hosts].append(count / seconds)
    one, four = median(rates[1]), median(rates[HOSTS])
    figures = {
        f"{hosts} x {SLOTS} slots": {
            "steps_per_s": tidy(median(rates[hosts])),
            "slots_allow": hosts * SLOTS / WAIT,
            "cores_busy_percent": tidy(100 * median(busy[hosts])),
            "processor_ms_per_step": tidy(median([each["all"] for each in times[hosts]])),
            "limit": limit(median(rates[hosts]) * WAIT / hosts / SLOTS, median(busy[hosts])),
        }
        for hosts in rates
    }
    beside = neighbours.measure(bench, scale)
    return Measured(
        {"hosts": four / one, **beside.values},
        baselines={"hosts": one, **beside.baselines},
        ratios={"hosts": four / one, **beside.values},
        details={"hosts": figures, **beside.details, "load": tidy(os.getloadavg()[0])},
    )


@contextmanager
def working(slots: int) -> Iterator[list[UUID]]:
    """As many threads as there are slots, all of them at work; cancelled afterwards."""
    ids = [start("bench-asking", steps=ENDLESS) for _ in range(slots)]
    parts.wait_until(lambda: _leased(ids) == slots, seconds=120, what="work in all slots")
    committed(ids, SETTLED)  # what is imported with the first step is no step
    try:
        yield ids
    finally:
        clear()
        parts.wait_until(lambda: _leased(ids) == 0, seconds=60, what="rest in all slots")


def _leased(ids: Sequence[UUID]) -> int:
    with connection.cursor() as cursor:
        cursor.execute(_LEASED, (list(ids),))
        return int(cursor.fetchone()[0])


def committed(ids: Sequence[UUID], seconds: float) -> tuple[int, float]:
    """(steps that these threads commit meanwhile, seconds that it took by the database's clock)."""
    with connection.cursor() as cursor:
        cursor.execute(_STEPS, (list(ids),))
        before, began = cursor.fetchone()
        time.sleep(seconds)
        cursor.execute(_STEPS, (list(ids),))
        after, ended = cursor.fetchone()
    return int(after - before), float(ended - began)


def limit(of_slots: float, of_cores: float) -> str:
    """What held a rate: the slots, the machine's cores, or something between them."""
    if of_slots >= REACHED:
        return "slots"
    return "cores" if of_cores >= REACHED else "neither"
