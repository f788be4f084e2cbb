"""Row 13: appends to the hot store beside the drain, the drain itself, and a hot agent's steps.

Everything with `appendfsync always`, as the hot store is started; with `everysec` it is printed
beside that. A bare XADD and a bare INSERT of as many bytes are timed in the same run.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import batched
from typing import Any, Final
from uuid import UUID, uuid4

import redis
from django.db import connection
from uuid_utils.compat import uuid7

from checkpoints import leases, queries, store
from checkpoints.hot import streams
from checkpoints.hot.appends import Appends
from checkpoints.queries.states import materialized
from checkpoints.state.channels import Digests
from checkpoints.state.deltas import Folder
from checkpoints.states import Status
from checkpoints.store import NewCheckpoint
from dashboard.operate.embedded.process.folders import folders
from dashboard.operate.embedded.valkey import HotStore

from .. import parts
from ..agents.growth import text
from ..ground import clear, median, percentile, start, wait_for, workspace
from ..report import Measured
from ..servers import Bench
from .baseline import RawInserts

SIZE: Final = 1_000
ENTRIES: Final = 10_000
STEPS: Final = 10_000
ROUNDS: Final = 3
BATCH: Final = 10
# Appends a second while their time is taken, and how long.
PACE: Final = 5_000
PACE_SECONDS: Final = 6.0
FLUSHES: Final = ("always", "everysec")
CHANNELS: Final = {
    "n": {"reducer": "last_value", "default": 0},
    "text": {"reducer": "last_value", "default": ""},
}
_LEASED = """
SELECT extract(epoch FROM max(at) - min(at) FILTER (WHERE kind = 'lease.acquired'))::float8
FROM gp_event WHERE thread_id = %s::uuid
"""


class Source:
    """A leased thread that no worker takes, and its steps, encoded one after the other."""

    def __init__(self) -> None:
        version = store.announce_version(
            agent="bench-hot-entries",
            version=1,
            fingerprint="bench",
            label="Entries",
            description="",
            schema_version=1,
            schema={"type": "object"},
            channels=CHANNELS,
            graph={
                "entry": ["count"],
                "nodes": [{"name": "count", "then": ["count"]}],
                "durability": "hot",
            },
            tools={},
            queue="bench-nobody-listens",
        )
        self.thread = store.start(
            version, input={"n": 0, "text": ""}, workspace=workspace(), actor="bench:1"
        )
        work = leases.acquire(self.thread, owner="worker:bench:1:00000000")
        assert work is not None
        self.work = work
        self._folder = Folder(materialized.materialise(self.thread, work.head).state)
        self._digests = Digests.of(self._folder.state, materialized.reducers_of(version))
        self.appends = Appends(self.thread, seq=work.last_seq)

    def entries(self, count: int) -> list[bytes]:
        """So many steps more, as a hot ledger encodes them."""
        return [store.encode_step(self.work, self._next())[0] for _ in range(count)]

    def _next(self) -> NewCheckpoint:
        work = self.work
        delta: Any = {"set": {"n": work.number, "text": text(work.number, SIZE)}}
        self._folder.add(delta)
        checkpoint = NewCheckpoint(
            id=uuid7(),
            number=work.number + 1,
            step=work.step + 1,
            branch=work.branch,
            branch_start=work.branch_start,
            parent=work.head,
            parent_thread=work.thread,
            parent_number=work.number,
            source="step",
            nodes=("count",),
            next_nodes=("count",),
            delta=delta,
            state_hash=self._digests.update(delta, self._folder.state),
            state_bytes=self._digests.size,
            schema_version=1,
            agent_version=work.agent_version,
            created_by=work.owner,
            digests=self._digests,
        )
        work.head, work.number, work.step = checkpoint.id, checkpoint.number, checkpoint.step
        return checkpoint

    @property
    def drained(self) -> int:
        """The number of the newest step that PostgreSQL has."""
        return queries.thread(self.thread, workspace=workspace()).number


def measure(bench: Bench, scale: float) -> Measured:
    """Each figure as the median of rounds; those of both flushes alternate."""
    server = HotStore(folders(bench.data))
    server.start()
    try:
        server.wait()
        with redis.Redis(unix_socket_path=str(server.socket)) as client:
            return _measure(bench, client, scale)
    finally:
        clear()  # while the store is there: what it holds of a thread is drained first
        server.stop()


def _measure(bench: Bench, client: redis.Redis, scale: float) -> Measured:
    figures: dict[str, dict[str, list[float]]] = {flush: {} for flush in FLUSHES}
    rounds = max(1, round(ROUNDS * min(1.0, scale * 2)))
    entries, steps = max(1_000, int(ENTRIES * scale)), max(500, int(STEPS * scale))
    drains = [_drained(Source(), entries) for _ in range(rounds)]
    with parts.worker(bench, "benchmarks.agents.hot", slots=1):
        last = _play(300)
        raw = RawInserts.like_last_step(bench, last)
        inserts = [raw.rate(1_000) for _ in range(rounds)]
        raw.close()
        for _ in range(rounds):
            for flush in FLUSHES:
                client.config_set("appendfsync", flush)
                for name, value in _round(client, entries, steps, scale).items():
                    figures[flush].setdefault(name, []).append(value)
    medians = {
        flush: {name: median(values) for name, values in each.items()}
        for flush, each in figures.items()
    }
    always = medians["always"]
    measured = Measured(
        {
            "appends": always["appends"],
            "append_p99": always["append_p99_ms"],
            "drain": median(drains),
            "steps": always["steps"],
        },
        baselines={"appends": always["xadd"], "drain": median(inserts), "steps": median(inserts)},
    )
    measured.ratios = {n: measured.values[n] / value for n, value in measured.baselines.items()}
    measured.details = {
        f"timing_{flush}": {name: round(value, 2) for name, value in each.items()}
        for flush, each in medians.items()
    }
    measured.details |= {"raw_inserts": round(median(inserts)), "entries": entries, "made": steps}
    return measured


def _drained(source: Source, count: int) -> float:
    """Entries a second that one drain writes."""
    _append_all(source, source.entries(count))
    began = time.perf_counter()
    drained = store.drain(source.thread)
    seconds = time.perf_counter() - began
    if drained != count or source.drained != count:
        raise RuntimeError(f"{drained} entries were drained, {count} were appended")
    return count / seconds


def _append_all(source: Source, entries: Sequence[bytes]) -> None:
    """Append entries as fast as a window allows; all are acknowledged when this returns."""
    for some in batched(entries, BATCH):
        source.appends.append(some)
    source.appends.wait()


def _round(client: redis.Redis, entries: int, steps: int, scale: float) -> dict[str, float]:
    """The figures of one flush, beside the drain of a worker."""
    result = {"xadd": _xadd_rate(client, max(200, entries // 10))}
    source = Source()
    made = source.entries(entries)
    began = time.perf_counter()
    _append_all(source, made)
    result["appends"] = entries / (time.perf_counter() - began)
    _wait_drained(source)
    result |= _paced(PACE_SECONDS * min(1.0, scale * 2))
    result["steps"] = steps / _leased(_play(steps))
    return result


def _paced(seconds: float) -> dict[str, float]:
    """The times of appends at PACE entries a second, and how far the drain is behind them.

    A call is timed from when it is sent to when its answer is read, which is tried right away.
    """
    source = Source()
    made = source.entries(int(PACE * seconds))
    times: list[float] = []
    with _lags(source.thread) as lags:
        began = time.perf_counter()
        for i, some in enumerate(batched(made, BATCH)):
            due = began + i * BATCH / PACE
            if (early := due - time.perf_counter()) > 0:
                time.sleep(early)
            sent = time.perf_counter()
            source.appends.append(some)
            source.appends.wait()
            times.append(time.perf_counter() - sent)
        rate = len(made) / (time.perf_counter() - began)
    _wait_drained(source)
    return {
        "paced_appends": rate,
        "append_p50_ms": median(times) * 1e3,
        "append_p99_ms": percentile(times, 0.99) * 1e3,
        "lag_p50_ms": median(lags) * 1e3,
        "lag_p99_ms": percentile(lags, 0.99) * 1e3,
    }


@contextmanager
def _lags(thread: UUID) -> Iterator[list[float]]:
    """The seconds that the drain is behind, looked at 20 times a second."""
    seconds: list[float] = []
    stop = threading.Event()

    def look() -> None:
        while not stop.wait(0.05):
            seconds.append(streams.lag_of([thread])[thread].seconds)

    looking = threading.Thread(target=look)
    looking.start()
    try:
        yield seconds
    finally:
        stop.set()
        looking.join()


def _xadd_rate(client: redis.Redis, count: int) -> float:
    """Bare XADDs a second, one at a time, of as many bytes."""
    stream = f"bench:{uuid4()}"
    began = time.perf_counter()
    for number in range(count):
        client.xadd(stream, {"step": text(number, SIZE)})
    seconds = time.perf_counter() - began
    client.delete(stream)
    return count / seconds


def _wait_drained(source: Source) -> None:
    parts.wait_until(
        lambda: source.drained == source.work.number, seconds=60, what="the end of the drain"
    )


def _play(steps: int) -> UUID:
    """Start a thread of the hot agent, and wait until it has succeeded."""
    thread = start("bench-hot", steps=steps, size=SIZE)
    wait_for(thread, Status.SUCCEEDED, seconds=300, first_after=steps / 5_000, every=0.1)
    return thread


def _leased(thread: UUID) -> float:
    """Seconds from the lease to the end, before which all steps are drained."""
    with connection.cursor() as cursor:
        cursor.execute(_LEASED, (thread,))
        return float(cursor.fetchone()[0])
