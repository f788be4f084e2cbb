"""A hot store that fills up raises the alarm before it is full, once an hour, in each workspace."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest
import redis
from django.db import connection

from approvals.notify import endpoints, hot_store
from approvals.notify.endpoints import Wanted
from approvals.notify.hot_store import announce_filling
from approvals.notify.sender import Sender
from checkpoints import store
from checkpoints.hot.persistence import ALARM_SHARE, read_persistence
from dashboard.live import metrics
from tests.support.logs import logs_of
from tests.unit.approvals.post import Mailbox
from workers.slot.sweep import sweep_once

pytestmark = pytest.mark.requirement("A30")


@pytest.fixture
def workspace(real_db: str) -> UUID:
    return store.create_workspace("busy", actor="user:1")


@pytest.fixture
def limit(hot_store: redis.Redis) -> Iterator[Any]:
    """Set the limit so that the store uses this share of it."""
    former: Any = hot_store.config_get("maxmemory")

    def set_limit(share: float) -> None:
        hot_store.config_set("maxmemory", int(read_persistence().used_bytes / share))

    yield set_limit
    hot_store.config_set("maxmemory", former["maxmemory"])


def news() -> list[tuple[UUID, dict[str, Any]]]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT workspace_id, data::text FROM gp_outbox WHERE kind = 'hot_store.filling'"
        )
        return [(workspace, json.loads(data)) for workspace, data in cursor.fetchall()]


def figures() -> dict[str, float]:
    lines = metrics.exposition().decode().splitlines()
    pairs = (line.split(" ") for line in lines if line.startswith("gatepost_hot_store_"))
    return {name.removeprefix("gatepost_hot_store_"): float(value) for name, value in pairs}


def test_it_is_said_while_there_is_room(workspace: UUID, limit: Any, box: Mailbox) -> None:
    endpoints.make(workspace, "email", Wanted(name="a", target="a@example.com"), actor="user:1")
    limit(ALARM_SHARE - 0.1)
    assert (announce_filling(), news()) == (0, [])
    limit(ALARM_SHARE + 0.05)
    with logs_of(hot_store) as logged:
        n_news = announce_filling()
    assert [line["log_level"] for line in logged] == ["critical"]
    assert n_news == len(news()) >= 1
    (data,) = (data for where, data in news() if where == workspace)
    assert data["used_bytes"] / data["limit_bytes"] == pytest.approx(ALARM_SHARE + 0.05, abs=0.06)
    assert "CONFIG SET maxmemory" in data["what"]
    assert Sender().drain() == 1
    assert box.mails[-1][1]["subject"].startswith("The hot store has to be drained")
    assert "of its memory" in box.text()


def test_it_is_said_once_an_hour(workspace: UUID, limit: Any) -> None:
    limit(0.9)
    n_news = announce_filling()
    assert announce_filling() == 0
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE gp_duty SET until = clock_timestamp() - interval '1 second' "
            "WHERE name = 'hot_store.filling'"
        )
    assert announce_filling() == n_news


def test_the_sweep_looks(workspace: UUID, limit: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workers.slot.sweep._hot_store_turn", store.Turn(seconds=30))
    limit(0.9)
    assert sweep_once(owner="worker:1")["hot store"] == len(news()) >= 1
    assert sweep_once(owner="worker:1")["hot store"] == 0


def test_metrics_show_how_full_it_is(
    workspace: UUID, limit: Any, hot_store: redis.Redis, settings: Any
) -> None:
    limit(0.5)
    shown = figures()
    assert shown["used_bytes"] / shown["limit_bytes"] == pytest.approx(0.5, abs=0.1)
    assert (shown["up"], shown["faults"]) == (1, 0)
    hot_store.config_set("appendfsync", "no")
    try:
        assert figures()["faults"] == 1
    finally:
        hot_store.config_set("appendfsync", "always")
    settings.HOT_URL = "unix:///nowhere/hot.sock"
    assert figures() == {"up": 0}
    assert announce_filling() == 0
