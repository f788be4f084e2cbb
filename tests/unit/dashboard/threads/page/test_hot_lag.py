"""How far PostgreSQL is behind a hot agent: on the page of the thread and for Prometheus."""

from __future__ import annotations

from typing import Any

import pytest
import redis
from django.test import Client

from checkpoints import store
from dashboard.live import metrics
from tests.support.cast import Cast
from tests.unit.dashboard.live.test_metrics import read
from tests.unit.workers.conftest import Bench
from tests.unit.workers.graphs.ticking import TOOLS, ticking
from tests.unit.workers.step.test_hot_ledger import acknowledged, taken, worked
from workers.code.registry import announce

pytestmark = pytest.mark.requirement("A31")
AWAY = "The hot store doesn’t answer: steps that wait there aren’t shown."


def test_lag_rises_while_nobody_drains_and_falls_back(
    cast: Cast,
    client: Client,
    hot_store: redis.Redis,
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
    django_capture_on_commit_callbacks: Any,
) -> None:
    monkeypatch.setattr(metrics, "KEPT_SECONDS", 0.0)
    settings.ALLOWED_HOSTS = ["localhost", "127.0.0.1", "[::1]"]
    bench = Bench(announce(ticking("hot"), TOOLS, []), cast.workspace)
    thread = bench.start(until=100)
    page = cast.client("operator")

    def facts() -> str:
        answer = page.get(f"/threads/{thread}/", headers={"host": "localhost"})
        return str(answer.content.decode())

    def figures() -> tuple[float, float]:
        text = read(client)
        lag = text["gatepost_drain_lag_seconds", (("buffer", "hot"),)]
        return text["gatepost_hot_steps", ()], lag

    assert "All steps are in the database." in facts()
    assert figures() == (0, 0)
    worked(bench, taken(thread), until=50)
    waiting = acknowledged(thread) - bench.row(thread).number
    assert waiting >= 40
    assert f"{waiting} steps not in the database yet, the first for " in facts()
    steps, first = figures()
    assert steps == waiting
    assert figures()[1] > first > 0
    with django_capture_on_commit_callbacks(execute=True):
        store.drain(thread)
    assert "All steps are in the database." in facts()
    assert figures() == (0, 0)
    settings.HOT_URL = "unix:///nowhere/valkey.sock"
    assert AWAY in facts()
    assert ("gatepost_hot_steps", ()) not in read(client)
