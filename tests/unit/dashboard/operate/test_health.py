"""Liveness and readiness, for supervisors that have no login."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.test import Client

from checkpoints import store
from dashboard.operate import health
from dashboard.operate.health import Watch
from tests.unit.dashboard import scene


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A watch that remembers nothing of other tests."""
    monkeypatch.setattr(health, "_migrated", False)
    monkeypatch.setattr("dashboard.operate.probes.watch", Watch(health.database, health.valkey))
    monkeypatch.setattr(health, "KEPT_SECONDS", 0.0)
    return


def test_healthz_needs_nothing(client: Client) -> None:
    assert client.get("/healthz").content == b"ok"
    assert client.post("/healthz").status_code == 405


def test_readyz_names_its_parts(client: Client, real_db: str, settings: Any) -> None:
    response = client.get("/readyz")
    assert response.status_code == 503
    assert response.json() == {
        "ready": False, "database": "ok", "migrations": "ok", "valkey": "ok", "worker": "down",
    }  # fmt: skip
    assert response.headers["Cache-Control"] == "no-store"
    scene.alive(scene.make_agent())
    response = client.get("/readyz")
    assert (response.status_code, response.json()["ready"]) == (200, True)
    settings.REDIS_URL = "unix:///nowhere/valkey.sock"
    assert client.get("/readyz").json()["valkey"] == "down"


def test_probes_come_under_any_name(client: Client, real_db: str) -> None:
    """A probe knows the address of a container, not the name of the site."""
    scene.alive(scene.make_agent())
    for path in ("/healthz", "/readyz"):
        assert client.get(path, headers={"host": "10.1.2.3:8000"}).status_code == 200
    assert client.get("/login/", headers={"host": "10.1.2.3:8000"}).status_code == 400


def test_a_worker_without_a_sign_of_life_does_not_count(client: Client, real_db: str) -> None:
    worker = scene.alive(scene.make_agent())
    with connection.cursor() as cursor:
        cursor.execute("UPDATE gp_worker SET seen_at = clock_timestamp() - interval '16 seconds'")
    assert client.get("/readyz").json()["worker"] == "down"
    store.heartbeat_worker(worker)
    assert client.get("/readyz").json()["worker"] == "ok"


def test_missing_migrations_are_named(client: Client, real_db: str) -> None:
    scene.alive(scene.make_agent())
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM django_migrations WHERE app = 'approvals'")
    response = client.get("/readyz")
    assert response.status_code == 503
    assert response.json()["database"] == "ok"
    assert response.json()["migrations"] == response.json()["worker"] == "down"


def test_readyz_without_a_database(
    client: Client, real_db: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = connection.settings_dict
    connection.close()
    watch = Watch(health.database, health.valkey)
    monkeypatch.setattr("dashboard.operate.probes.watch", watch)
    with monkeypatch.context() as patch:
        patch.setitem(at, "HOST", "/nowhere")
        response = client.get("/readyz")
    assert response.status_code == 503
    assert {response.json()[part] for part in ("database", "migrations", "worker")} == {"down"}
    assert response.json()["valkey"] == "ok"
    assert b"nowhere" not in response.content
    # Down is what the database's part found: it was not given up while it tried again.
    assert isinstance(watch._pending[health.database].exception(timeout=0), OperationalError)


@pytest.mark.slow
def test_a_part_that_hangs_is_down_and_is_not_asked_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(health, "PATIENCE_SECONDS", 0.8)  # the other part answers in that time
    requests, release, ended = [], threading.Event(), []

    def hangs() -> dict[str, bool]:
        requests.append(1)
        ended.append(release.wait(30))
        return {"database": True, "migrations": True, "worker": True}

    watch = Watch(hangs, lambda: {"valkey": True})
    try:
        for _ in range(2):
            assert watch.look().parts == {
                "database": False, "migrations": False, "valkey": True, "worker": False,
            }  # fmt: skip
            assert not ended, "the answer waited for the part that hangs"
        assert len(requests) == 1
    finally:
        release.set()
    assert watch.look().ready


def test_a_flood_costs_one_look(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "KEPT_SECONDS", 60.0)
    requests: list[int] = []

    def slow() -> dict[str, bool]:
        requests.append(1)
        time.sleep(0.1)
        return dict.fromkeys(health.PARTS, True)

    watch = Watch(slow)
    with ThreadPoolExecutor(20) as many:
        answers = list(many.map(lambda _: watch.look().ready, range(100)))
    assert answers == [True] * 100
    assert len(requests) == 1
