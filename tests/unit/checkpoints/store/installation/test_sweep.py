"""Several sweeps at one moment, as when the duty's lease ran out in a pause: nothing twice."""

from __future__ import annotations

import threading
from typing import Any
from uuid import UUID

import pytest
from django.db import connection

from checkpoints import leases, store
from checkpoints.chain import verify_thread
from checkpoints.states import EventKind
from tests.unit.checkpoints.builders import acquired, expire, kinds_of, make_thread, rows, status_of
from workers.slot.sweep import sweep_once

pytestmark = pytest.mark.requirement("C29")
SWEEPERS = 4


@pytest.mark.slow
def test_of_many_sweepers_each_thing_is_done_by_one(real_db: str, settings: Any) -> None:
    settings.GATEPOST_LEASE_SECONDS = 0.001
    sleepers = [make_thread() for _ in range(90)]
    for thread in sleepers:
        store.leave(acquired(thread), EventKind.THREAD_SLEPT, wake_at_seconds=0)
    looping = [make_thread() for _ in range(15)]
    for thread in looping:
        acquired(thread)
        for _ in range(2):
            expire(thread)
            assert leases.take_over(thread, owner="worker:2") is not None
        expire(thread)
    start = threading.Barrier(SWEEPERS)
    done: list[dict[str, int]] = []

    def sweep(name: str) -> None:
        connection.ensure_connection()  # or whoever is first has done all before the others can
        start.wait()
        done.append(sweep_once(owner=name))
        connection.close()

    both = [threading.Thread(target=sweep, args=(f"worker:{n}",)) for n in range(SWEEPERS)]
    for one in both:
        one.start()
    for one in both:
        one.join()
    assert len(done) == SWEEPERS
    assert sum(one["woken"] for one in done) == len(sleepers)
    assert sum(one["parked"] for one in done) == len(looping)
    assert sum(one["woken"] > 0 for one in done) > 1, "it was no race"
    assert by_kind(sleepers, "thread.woken") == [1] * len(sleepers)
    assert by_kind(looping, "thread.parked") == [1] * len(looping)
    assert {status_of(thread) for thread in sleepers} == {"queued"}
    assert {status_of(thread) for thread in looping} == {"attention"}
    for thread in (*sleepers, *looping):
        assert verify_thread(thread).intact


def by_kind(threads: list[UUID], kind: str) -> list[int]:
    return [kinds_of(thread).count(kind) for thread in threads]


def test_the_duty_has_one_owner_at_a_time(real_db: str) -> None:
    start, won = threading.Barrier(8), list[str]()

    def claim(name: str) -> None:
        start.wait()
        if store.claim_duty("sweep", owner=name, seconds=60):
            won.append(name)
        connection.close()

    claimers = [threading.Thread(target=claim, args=(f"worker:{n}",)) for n in range(8)]
    for one in claimers:
        one.start()
    for one in claimers:
        one.join()
    assert len(won) == 1
    assert rows("SELECT owner FROM gp_duty WHERE name = 'sweep'") == [(won[0],)]
