"""The database's clock steps back: what counts on it goes on, and people are told.

A step is made by moving what was written before it into the future, as it then looks.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from checkpoints import leases, queries, store
from dashboard.operate import health
from dashboard.operate.doctor import lag
from dashboard.operate.doctor.findings import Seen
from dashboard.operate.health import Watch
from tests.unit.checkpoints.builders import acquired, expire, make_thread, one, rows, status_of
from tests.unit.dashboard import scene
from workers.slot import clock, sweep
from workers.slot.clock import ClockWatch

HOUR = 3600.0
ROOT = Path(__file__).parents[4]


def step_back(seconds: float) -> None:
    """All that was written by the clock so far is in the future by so much."""
    shift = f"interval '{seconds} seconds'"
    rows(f"UPDATE gp_thread SET lease_until = lease_until + {shift}")
    rows(f"UPDATE gp_worker SET seen_at = seen_at + {shift}, started_at = started_at + {shift}")
    rows(f"UPDATE gp_duty SET until = until + {shift}")
    rows(f"UPDATE gp_set_aside SET next_at = next_at + {shift}")


@pytest.mark.nightly
@pytest.mark.parametrize("seconds", [12.0, 20.0, HOUR, 30 * 86_400.0])
def test_a_lease_lasts_one_term_at_most_and_the_living_lose_none(
    real_db: str, settings: Any, seconds: float
) -> None:
    settings.GATEPOST_LEASE_SECONDS = 2.0
    dead, living = (make_thread() for _ in range(2))
    acquired(dead)
    work = acquired(living)
    step_back(seconds)
    done = sweep.sweep_once(owner="worker:1")
    assert done["shortened"] == 2
    # Whoever lives has the whole term to renew it.
    assert leases.take_over(living, owner="worker:2") is None
    assert leases.renew(living, token=work.token)
    until = time.monotonic() + 2.2
    while time.monotonic() < until:
        assert leases.renew(living, token=work.token)
        time.sleep(0.2)
    assert [t for t, _ in store.stranded_threads(queued_for_seconds=60)] == [dead]
    taken = leases.take_over(dead, owner="worker:2")
    assert taken is not None
    assert taken.crash_count == 1
    assert leases.take_over(living, owner="worker:2") is None
    assert status_of(living) == "running"


@contextmanager
def server_started(seconds: float) -> Iterator[None]:
    """PostgreSQL says on this connection that it started so many seconds from now."""
    rows("CREATE SCHEMA IF NOT EXISTS other_start")
    rows(
        "CREATE OR REPLACE FUNCTION other_start.pg_postmaster_start_time() RETURNS timestamptz "
        f"LANGUAGE sql AS $$ SELECT clock_timestamp() + interval '{seconds} seconds' $$"
    )
    rows("SELECT set_config('search_path', 'other_start, public, pg_catalog', false)")
    try:
        yield
    finally:
        rows("SELECT set_config('search_path', '\"$user\", public', false)")


@pytest.mark.requirement("C30")
def test_a_server_that_started_in_the_future_started_long_ago(real_db: str, settings: Any) -> None:
    settings.GATEPOST_LEASE_SECONDS = 2.0
    lost, looping = (make_thread() for _ in range(2))
    for thread in (lost, looping):
        acquired(thread)
        expire(thread)
    rows("UPDATE gp_thread SET crash_count = 2 WHERE id = %s::uuid", (looping,))
    with server_started(-1.0):  # less than a lease ago: holders first get the chance to renew
        assert leases.take_over(lost, owner="worker:2") is None
        assert store.park_crash_loops(owner="sweep") == 0
    with server_started(HOUR):
        taken = leases.take_over(lost, owner="worker:2")
        assert taken is not None
        assert taken.crash_count == 1
        assert store.park_crash_loops(owner="sweep") == 1
        assert status_of(looping) == "attention"


def test_the_start_is_asked_for_in_one_place() -> None:
    """A new wait for the server's start that forgets the step would stop takeovers again."""
    readers = [
        path.relative_to(ROOT).as_posix()
        for folder in ("checkpoints", "approvals", "workers", "dashboard")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in {".py", ".sql"} and "pg_postmaster_start_time" in path.read_text()
    ]
    assert sorted(readers) == [
        "checkpoints/postgres/server_start.py",
        "checkpoints/queries/installation/server.py",  # for `doctor`, which shows it
    ]


def test_a_thread_queued_before_a_step_gets_its_doorbell(real_db: str) -> None:
    thread = make_thread()
    assert store.stranded_threads(queued_for_seconds=60) == []
    rows("UPDATE gp_thread SET status_since = status_since + interval '1 hour'")
    assert [t for t, _ in store.stranded_threads(queued_for_seconds=60)] == [thread]


def test_doctor_names_a_step_that_no_worker_noticed(real_db: str) -> None:
    with server_started(HOUR):
        seen = Seen(has={"tables", "database"}, answered=queries.server())
    [step] = [f for f in lag.clock(seen) if f.level == "warning"]
    assert step.name == "clock of the database"
    assert "no worker noticed" in step.value
    today = Seen(has={"tables", "database"}, answered=queries.server())
    assert all(f.name == "clock of this host" for f in lag.clock(today))


def test_a_worker_with_a_longer_term_keeps_its_leases(real_db: str, settings: Any) -> None:
    settings.GATEPOST_LEASE_SECONDS = 10.0
    acquired(make_thread())
    settings.GATEPOST_LEASE_SECONDS = 2.5  # of the worker that sweeps
    assert store.shorten_leases() == 0


def test_a_lease_within_its_term_is_left_alone(real_db: str) -> None:
    acquired(make_thread())
    assert store.shorten_leases() == 0


def test_a_locked_thread_keeps_no_lease_too_long(real_db: str) -> None:
    from .test_sweep_rows import locked

    threads = [make_thread() for _ in range(3)]
    for thread in threads:
        acquired(thread)
    step_back(HOUR)
    with locked("gp_thread", threads[0]):
        assert store.shorten_leases() == 2
    assert store.shorten_leases() == 1


def test_the_sweep_goes_on_though_its_duty_ends_in_the_future(real_db: str) -> None:
    assert store.claim_duty("sweep", owner="worker:dead", seconds=6)
    assert not store.claim_duty("sweep", owner="worker:2", seconds=6)
    step_back(HOUR)
    assert store.claim_duty("sweep", owner="worker:2", seconds=6)
    assert not store.claim_duty("sweep", owner="worker:3", seconds=6)


def test_a_dead_worker_does_not_count_as_alive(
    real_db: str, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dashboard.operate.probes.watch", Watch(health.database, health.valkey))
    monkeypatch.setattr(health, "KEPT_SECONDS", 0.0)
    worker = scene.alive(scene.make_agent())
    step_back(HOUR)
    answer = client.get("/readyz")
    assert (answer.status_code, answer.json()["worker"]) == (503, "down")
    assert "No worker gives a sign of life" in answer.json()["notes"][0]
    store.heartbeat_worker(worker)
    assert client.get("/readyz").status_code == 200


def test_a_step_back_is_noted_and_told(
    real_db: str, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dashboard.operate.probes.watch", Watch(health.database, health.valkey))
    monkeypatch.setattr(health, "KEPT_SECONDS", 0.0)
    scene.alive(scene.make_agent())
    off = 0.0
    monkeypatch.setattr(clock.queries, "clock", lambda: time.time() + off)
    watch = ClockWatch()
    assert [watch.look(worker="worker:1") for _ in range(3)] == [0.0] * 3
    off = 500.0  # forward: a machine that slept looks the same
    assert watch.look(worker="worker:1") == 0.0
    off = 499.0
    assert watch.look(worker="worker:1") == 0.0
    assert queries.clock_steps(seconds=HOUR) == []
    off = -3101.0
    assert watch.look(worker="worker:1") == pytest.approx(3600, abs=1)
    assert watch.look(worker="worker:1") == 0.0
    [step] = queries.clock_steps(seconds=HOUR)
    assert step.by == pytest.approx(3600, abs=1)
    answer = client.get("/readyz")
    assert answer.status_code == 200
    assert "The database's clock went back by" in answer.json()["notes"][0]
    messages = [f for f in lag.clock(Seen(has={"tables", "database"})) if f.level == "warning"]
    assert any("went back by" in finding.value for finding in messages)
    rows("UPDATE gp_clock_step SET at = at - interval '2 days'")
    assert "notes" not in client.get("/readyz").json()
    assert one("SELECT count(*) FROM gp_clock_step") == 1
