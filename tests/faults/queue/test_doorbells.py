"""Celery's messages are doorbells: losing all of them or hearing each ten times changes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import pytest
from django.conf import settings
from kombu import Producer
from redis import Redis

from checkpoints import store
from tests.faults.bench import Field, Worker, wait_until, workers
from workers.celery import app

pytestmark = pytest.mark.hazard


@contextmanager
def silence() -> Iterator[None]:
    """Doorbells of this process get lost."""
    with patch.object(Producer, "publish", lambda *_args, **_more: None):
        yield


def test_everything_queued_finishes_after_flushall(field: Field, worker: Worker) -> None:
    busy = [field.play("look first", hold=("in-first",)) for _ in worker.slots()]
    for case in busy:
        case.wait_called("first")
    queued = [field.play("look first", "look second", "look last") for _ in range(20)]
    paused = [field.play("look first") for _ in range(3)]
    for case in paused:
        assert store.pause(case.id, actor="user:1") == "paused"
    with Redis.from_url(settings.REDIS_URL) as valkey:
        assert int(valkey.llen("gatepost")) >= 18
        # In between the sweep may ring again for those that have waited for long.
        wait_until(lambda: valkey.flushall() and not valkey.llen("gatepost"), what="an empty queue")
    assert [case.row().status for case in queued] == ["queued"] * 20
    for case in busy:
        case.go("in-first")
    done = [case.wait_status("succeeded") for case in [*queued, *busy]]

    assert len(done) == 22
    for case in queued:
        assert [len(case.calls(n)) for n in ("first", "second", "last")] == [1, 1, 1]
        assert case.kinds().count("lease.acquired") == 1
    # Who was told to stand still stands still.
    assert [(case.row().status, case.calls("first")) for case in paused] == [("paused", [])] * 3


def test_queued_threads_are_found_by_an_idle_worker_after_flushall(
    field: Field, worker: Worker
) -> None:
    """No slot is busy that would look for more: only the sweep can ring again."""
    with silence():
        cases = [field.play("look first") for _ in range(20)]
    done = [case.wait_status("succeeded") for case in cases]
    assert len(done) == sum(len(case.calls("first")) for case in cases) == 20


def test_one_doorbell_brings_all_that_were_left_behind(
    ground: Path, real_db: str, tmp_path: Path
) -> None:
    """Without a sweep: the only worker's next one is a minute away."""
    made = Worker(
        ground,
        "calm",
        queues="calm",
        environment={"HAZARD_QUEUE": "calm", "GATEPOST_SWEEP_SECONDS": "60"},
    )
    with workers(made):
        field = Field(tmp_path, store.create_workspace("calm", actor="user:0"))
        with silence():
            cases = [field.play("look first", agent="script-calm") for _ in range(20)]
        app.send_task("gatepost.advance", args=[str(cases[0].id)], queue="calm", retry=False)
        done = [case.wait_status("succeeded") for case in cases]
    assert len(done) == sum(len(case.calls("first")) for case in cases) == 20


def test_ten_doorbells_for_one_thread_are_one_execution(field: Field, worker: Worker) -> None:
    cases = [field.play("look first", "deliver parcel", hold=("in-first",)) for _ in range(5)]
    for case in cases:
        for _ in range(10):
            app.send_task("gatepost.advance", args=[str(case.id)], queue="gatepost", retry=False)
    for case in cases:
        case.go("in-first")
    done = [case.wait_status("succeeded") for case in cases]
    with Redis.from_url(settings.REDIS_URL) as valkey:
        wait_until(lambda: valkey.llen("gatepost") == 0, what="all doorbells to be answered")

    assert len(done) == 5
    for case in cases:
        assert (len(case.calls("first")), len(case.calls("parcel"))) == (1, 1)
        assert case.kinds().count("lease.acquired") == 1
        assert case.kinds().count("checkpoint.committed") == 2
