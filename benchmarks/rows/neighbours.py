"""Row 25: a quiet workspace beside one with 100,000 queued threads, on the same slots.

Threads of the quiet workspace come one after another, each with five steps that wait 100 ms for a
model: alone, then while every slot works for the other workspace, whose threads have one such step.
The clock of the database says how long each took, from its start to its end.
"""

from __future__ import annotations

import os
import time
from typing import Any
from unittest.mock import patch
from uuid import UUID

from django.db import connection

from checkpoints import store

from .. import inbox, parts
from ..agents.model_calls import SERVER
from ..ground import median, percentile, start, version_of
from ..report import Measured, tidy
from ..servers import Bench
from .sleeping_model import WAIT, model

QUEUED, RUNNABLE = 100_000, 3_000  # of the other workspace, and those of them that get their turn
THREADS, STEPS, SLOTS = 40, 5, 8
AGENT = "benchmarks.agents.model_calls"
# They stand behind all that can run.
_DIFFERS = {
    "id": "gen_random_uuid()",
    "chain_id": "gen_random_uuid()",
    "status": "'queued'",
    "status_since": "clock_timestamp() + interval '1 day'",
    "lease_owner": "''",
    "lease_token": "NULL",
    "lease_until": "NULL",
}
_TOOK = "SELECT extract(epoch FROM max(at) - min(at))::float8 FROM gp_event WHERE thread_id = %s"
_ENDED = "SELECT status = 'succeeded' FROM gp_thread WHERE id = %s"
_QUEUED = "SELECT count(*) FROM gp_thread WHERE status = 'queued'"


def measure(bench: Bench, scale: float) -> Measured:
    """The median of a quiet workspace's threads beside many others, against the same alone."""
    count = max(4, round(THREADS * min(1.0, scale)))
    runnable = max(400, round(RUNNABLE * min(1.0, scale)))
    quiet = store.create_workspace("bench-quiet", actor="bench:1")
    with (
        model() as address,
        patch.dict(os.environ, {SERVER: address}),
        parts.worker(bench, AGENT, slots=SLOTS),
    ):
        _seconds(quiet)  # imports
        alone = [_seconds(quiet) for _ in range(count)]
        _queue(bench, runnable, round(QUEUED * min(1.0, scale)) - runnable)
        before, began = _one(_QUEUED), time.monotonic()
        beside = [_seconds(quiet) for _ in range(count)]
        done, seconds = before - _one(_QUEUED), time.monotonic() - began
        if done >= runnable:
            raise RuntimeError("the other workspace had nothing left to run")
    ratio = median(beside) / median(alone)
    return Measured(
        {"neighbour": ratio},
        baselines={"neighbour": 1e3 * median(alone)},
        details={
            "neighbour": {
                "queued": before,
                "alone_p50_ms": tidy(1e3 * median(alone)),
                "beside_p50_ms": tidy(1e3 * median(beside)),
                "beside_p95_ms": tidy(1e3 * percentile(beside, 0.95)),
                "other_threads_per_s": tidy(done / seconds),
                "slots_allow": SLOTS / WAIT,
            }
        },
    )


def _seconds(workspace: UUID) -> float:
    """Seconds that one thread of a workspace takes, from its start to its end."""
    thread = store.start(
        version_of("bench-asking"),
        input={"steps": STEPS},
        workspace=workspace,
        actor="bench:1",
        title="quiet",
    )
    time.sleep(STEPS * WAIT)
    parts.wait_until(lambda: _one(_ENDED, thread), seconds=60, what="the end of a thread")
    return float(_one(_TOOK, thread))


def _queue(bench: Bench, runnable: int, copies: int) -> None:
    """Queue threads of the other workspace: some that can run, then rows like them."""
    like = start("bench-asking", steps=1)
    for _ in range(runnable):
        start("bench-asking", steps=1)
    raw = bench.connect()
    inbox.multiply(raw, "gp_thread", like, _DIFFERS, copies)
    raw.execute("VACUUM ANALYZE gp_thread")


def _one(sql: str, *params: object) -> Any:
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        return cursor.fetchone()[0]
