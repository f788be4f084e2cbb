"""A worker of a hot agent is stopped: every door shows the lag, another worker raises the alarm."""

from __future__ import annotations

import re
import signal
from pathlib import Path
from typing import Any

import pytest
import redis
from django.test import Client

from checkpoints.hot import streams
from dashboard.live import metrics
from tests.faults import invariants
from tests.faults.bench import Case, Field, Worker, ask, wait_until, workers
from tests.support.cast import Cast, make_cast
from tests.unit.dashboard.live.test_metrics import read

from .test_hot_killed import hot_worker, wait_acknowledged

pytestmark = [pytest.mark.hazard, pytest.mark.requirement("A31")]
HOST = {"host": "localhost"}
LIMIT = 1.0
UNTIL = 6_000


def shown(cast: Cast, path: str) -> str:
    page = cast.client("operator").get(path, headers=HOST).content.decode()
    return " ".join(re.sub(r"<[^>]+>", " ", page).split())


def news(cast: Cast) -> list[str]:
    kinds = ask("SELECT kind FROM gp_outbox WHERE workspace_id = %s ORDER BY id", cast.workspace)
    return [kind for (kind,) in kinds if kind.startswith("hot_store")]


def stop_behind(hot: Worker, case: Case) -> None:
    """Stop the worker while steps wait; anew where it was stopped just after a drain."""
    for _ in range(20):
        wait_until(lambda: streams.lag_of([case.id])[case.id].entries > 20, what=case.summary)
        hot.signal(signal.SIGSTOP)
        if streams.lag_of([case.id])[case.id].entries:
            return
        hot.signal(signal.SIGCONT)
    raise AssertionError("it always stood still with everything drained")


def test_lag_rises_while_the_worker_is_stopped_and_falls_back(
    ground: Path,
    tmp_path: Path,
    hot_store: redis.Redis,
    client: Client,
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings.ALLOWED_HOSTS = ["localhost", "127.0.0.1", "[::1]"]
    settings.GATEPOST_HOT_LAG_SECONDS = LIMIT
    monkeypatch.setenv("GATEPOST_HOT_LAG_SECONDS", str(LIMIT))
    monkeypatch.setattr(metrics, "KEPT_SECONDS", 0.0)
    cast = make_cast(" stopped")
    field = Field(tmp_path, cast.workspace)
    hot = hot_worker(ground, "lagging")
    with workers(hot, Worker(ground, "sweeping")):
        case = field.start("hot", until=UNTIL)
        wait_acknowledged(case, 300)
        stop_behind(hot, case)
        try:
            wait_until(lambda: streams.lag_of([case.id])[case.id].seconds > LIMIT)
            waiting = streams.lag_of([case.id])[case.id].entries
            assert waiting, "everything was drained"
            assert "not stored for" in shown(cast, "/")
            assert "Not stored yet" in shown(cast, "/overview/")
            assert "of 1 thread, oldest" in shown(cast, "/overview/")
            assert read(client)["gatepost_hot_steps", ()] == waiting
            assert read(client)["gatepost_drain_lag_seconds", (("buffer", "hot"),)] > LIMIT
            assert "not in the database yet" in shown(cast, f"/threads/{case.id}/")
            wait_until(lambda: news(cast) == ["hot_store.late"])
        finally:
            hot.signal(signal.SIGCONT)
        case.wait_status("succeeded", seconds=120)
        wait_until(lambda: news(cast) == ["hot_store.late", "hot_store.drained"])
    assert "not stored for" not in shown(cast, "/")
    assert "all hot steps are in the database" in shown(cast, "/overview/")
    assert read(client)["gatepost_hot_steps", ()] == 0
    assert "All steps are in the database." in shown(cast, f"/threads/{case.id}/")
    assert case.state()["log"] == list(range(UNTIL))
    invariants.check(case)
