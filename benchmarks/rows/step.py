"""Row 1: one `store.commit_step` beside one raw INSERT of the same bytes, in alternation."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django.db import connection
from uuid_utils.compat import uuid7

from checkpoints import leases, store
from checkpoints.queries.states import materialized
from checkpoints.records import Work
from checkpoints.state.channels import Digests
from checkpoints.state.deltas import Folder
from checkpoints.states import EventKind
from checkpoints.store import NewCheckpoint, NewEvent

from .. import handicap
from ..agents.growth import text
from ..budgets import F2_MS
from ..ground import median, percentile, workspace
from ..report import Measured
from ..servers import Bench
from .baseline import RawInserts

DELTA_BYTES = 1_000
CHANNELS = {"log": {"reducer": "append", "default": []}}
# Row A32 of docs/requirements.md: milliseconds beside a step of seconds, whatever the ratio is.
STEP_MS, SHARE_PERCENT = 1_000.0, 1.0
PARTS = 5  # of the writes in a row; the median of their percentiles counts
XMAX = "SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint"


def steps() -> Iterator[tuple[Work, NewCheckpoint, NewEvent]]:
    """Steps ready to be committed, one after the other, on a leased thread."""
    version = store.announce_version(
        agent="bench-step",
        version=1,
        fingerprint="bench",
        label="Step",
        description="",
        schema_version=1,
        schema={"type": "object"},
        channels=CHANNELS,
        graph={"entry": ["grow"], "nodes": [{"name": "grow", "then": ["grow"]}]},
        tools={},
        queue="bench-nobody-listens",
    )
    thread = store.start(version, input={}, workspace=workspace(), actor="bench:1")
    work = leases.acquire(thread, owner="worker:bench:1:00000000")
    assert work is not None
    folder = Folder(materialized.materialise(thread, work.head).state)
    digests = Digests.of(folder.state, materialized.reducers_of(version))
    while True:
        delta: Any = {"append": {"log": [text(work.number, DELTA_BYTES)]}}
        folder.add(delta)
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
            nodes=("grow",),
            next_nodes=("grow",),
            delta=delta,
            state_hash=digests.update(delta, folder.state),
            state_bytes=digests.size,
            schema_version=1,
            agent_version=version,
            created_by=work.owner,
            digests=digests,
        )
        facts = {"node": "grow", "ordinal": 0, "text": f"Text {work.number} is long enough."}
        yield work, checkpoint, NewEvent(EventKind.THOUGHT_RECORDED, facts, work.owner)


class Stepper:
    """Commits steps and counts what they cost."""

    def __init__(self) -> None:
        self._steps = steps()
        self.thread = next(self._steps)[0].thread

    def step(self) -> float:
        """Commit one step; the seconds that `commit_step` took."""
        work, checkpoint, thought = next(self._steps)
        began = time.perf_counter()
        store.commit_step(work, checkpoint, before=[thought])
        return time.perf_counter() - began

    def round_trips(self, n: int) -> float:
        """Waits for the server per step, from the client library's own log of the protocol."""
        connection.ensure_connection()
        with tempfile.TemporaryFile() as log:
            pgconn = connection.connection.pgconn
            pgconn.trace(log.fileno())
            try:
                for _ in range(n):
                    self.step()
            finally:
                pgconn.untrace()
            log.seek(0)
            lines = [line.split(b"\t") for line in log]
        requests = [line[3].strip() for line in lines if line[1] == b"F"]
        return sum(message in (b"Sync", b"Query") for message in requests) / n

    def write_transactions(self, n: int) -> float:
        """Transactions with an id per step: those that write."""
        before = self._xmax()
        for _ in range(n):
            self.step()
        return (self._xmax() - before) / n

    def _xmax(self) -> int:
        with connection.cursor() as cursor:
            cursor.execute(XMAX)
            return int(cursor.fetchone()[0])


def measure(bench: Bench, scale: float) -> Measured:
    """Medians of rounds, each with a block of INSERTs and a block of steps."""
    handicap.install()
    stepper = Stepper()
    for _ in range(20):
        stepper.step()
    raw = RawInserts.like_last_step(bench, stepper.thread)
    try:
        for _ in range(200):
            raw.insert()
            stepper.step()
        measured = Measured({}, details={"raw_row_bytes": raw.row_bytes})
        measured.values["round_trips"] = stepper.round_trips(20)
        measured.values["write_transactions"] = stepper.write_transactions(
            max(20, int(200 * scale))
        )
        for name, flush, rounds, block in (("f0", 0.0, 100, 25), ("f2", F2_MS, 20, 15)):
            bench.flush_takes(flush)
            _compare(measured, name, stepper, raw, max(3, int(rounds * scale)), block)
        measured.values = {
            name: measured.values[name]
            for name in ("round_trips", "write_transactions", "ratio_f0", "ratio_f2")
        }
        timings = [measured.details[f"timing_{name}"] for name in ("f0", "f2")]
        measured.details["verdicts"] = {"A32": added_to_a_step(timings)}
    finally:
        bench.flush_takes(0)
        raw.close()
        # Row 8 counts what is leased: nobody works on this thread any more.
        store.cancel(stepper.thread, actor="bench:1")
    return measured


def added_to_a_step(timings: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The verdict on what a checkpoint's write adds to a step of one second; the slower disk's."""
    worst = max(timings, key=lambda timing: timing["step_p99_median_ms"])
    budget = STEP_MS * SHARE_PERCENT / 100
    return {
        "what": "a checkpoint's write, p99, against a step of one second",
        "value": worst["step_p99_median_ms"],
        "unit": "ms (p99)",
        "p50": worst["step_ms"],
        "percent_of_a_step": round(100 * worst["step_p99_median_ms"] / STEP_MS, 3),
        "budget": budget,
        "ok": worst["step_p99_median_ms"] <= budget,
    }


def _compare(
    measured: Measured, name: str, stepper: Stepper, raw: RawInserts, rounds: int, block: int
) -> None:
    ratios, ours, theirs = [], [], []
    for _ in range(rounds):
        # In short blocks: whatever else the machine does meets both alike, and each finds its
        # caches as warm as a thread that works step by step does.
        inserts = [raw.timed_insert() for _ in range(block)]
        steps = [stepper.step() for _ in range(block)]
        ratios.append(median(steps) / median(inserts))
        ours += steps
        theirs += inserts
    measured.values[f"ratio_{name}"] = measured.ratios[f"ratio_{name}"] = median(ratios)
    measured.baselines[f"ratio_{name}"] = round(1 / median(theirs), 1)
    measured.details[f"timing_{name}"] = {
        "raw_ms": round(median(theirs) * 1e3, 3),
        "step_ms": round(median(ours) * 1e3, 3),
        "step_p95_ms": round(percentile(ours, 0.95) * 1e3, 3),
        "step_p99_ms": round(percentile(ours, 0.99) * 1e3, 3),
        "step_p99_median_ms": round(
            median([percentile(part, 0.99) for part in _in_parts(ours)]) * 1e3, 3
        ),
        "raw_per_second": round(1 / median(theirs)),
        "steps_per_second": round(1 / median(ours)),
        "steps": len(ours),
    }


def _in_parts(values: Sequence[float]) -> list[Sequence[float]]:
    size = max(1, len(values) // PARTS)
    return [values[start : start + size] for start in range(0, size * PARTS, size)]
