"""Garbage in the queue of a worker costs nothing: dropped, counted, the next doorbell is served."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from django.conf import settings
from redis import Redis

from tests.faults.bench import Field, Worker, ask, wait_until, workers

from .poisons import poisons

pytestmark = pytest.mark.hazard
QUEUE = "poisoned"
NUMBER, BATCH = 1_000, 25
SERVED_SECONDS = 1.0


@pytest.mark.parametrize("pool", ["prefork", "threads"])
def test_after_each_batch_of_poisons_the_next_doorbell_is_served_at_once(
    ground: Path, field: Field, pool: str
) -> None:
    worker = Worker(
        ground,
        f"poisoned-{pool}",
        slots=2,
        pool=pool,
        queues=QUEUE,
        # Only a doorbell finds a thread in the time of this test, no sweep.
        settings={"GATEPOST_LEASE_SECONDS": "30", "GATEPOST_SWEEP_SECONDS": "2"},
        environment={"HAZARD_QUEUE": QUEUE},
    )
    made = list(poisons(NUMBER, seed=16))
    waits = []
    with workers(worker), Redis.from_url(settings.REDIS_URL) as valkey:
        slots = set(worker.slots())
        agent = f"script-{QUEUE}"
        field.play("look first", agent=agent).wait_status("succeeded")
        for begin in range(0, NUMBER, BATCH):
            # In front of the honest one, as many as the worker could ever have taken ahead.
            valkey.lpush(QUEUE, *made[begin : begin + BATCH])
            case = field.play("look a", agent=agent)
            began = time.monotonic()
            case.wait_called("a", seconds=10)
            waits.append(time.monotonic() - began)
        assert worker.alive
        assert set(worker.slots()) == slots, "a message ended a slot"
        refused = wait_until(lambda: counted(worker) > NUMBER * 0.7 and counted(worker))
        log = worker.log.read_text()
    assert len(waits) == NUMBER // BATCH
    assert max(waits) < SERVED_SECONDS, sorted(waits)[-5:]
    # The others were doorbells by their form, with forged options: they ring for nothing.
    assert refused <= NUMBER
    assert 20 <= log.count("message.refused") < NUMBER
    assert "Traceback" not in log, log[log.index("Traceback") - 500 :][:3000]


def counted(worker: Worker) -> int:
    ((number,),) = ask("SELECT messages_refused FROM gp_worker WHERE pid = %s", worker.pid)
    return int(number)
