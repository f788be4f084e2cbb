"""Steps of hot agents that nobody drains: all doors show the lag; an alarm begins and ends."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
import redis
from django.db import connection
from django.test import Client

from approvals.notify import endpoints, hot_store
from approvals.notify.endpoints import Wanted
from approvals.notify.hot_store import announce_lag
from approvals.notify.sender import Sender
from checkpoints import store
from checkpoints.hot import streams
from checkpoints.signals import board_changed
from dashboard.live import metrics
from tests.support.cast import Cast, make_cast
from tests.support.logs import logs_of
from tests.unit.approvals.post import Mailbox
from tests.unit.dashboard.live.test_metrics import read
from tests.unit.workers.conftest import Bench
from tests.unit.workers.graphs.ticking import TOOLS, ticking
from tests.unit.workers.step.test_hot_ledger import acknowledged, taken, worked
from workers.code.registry import announce
from workers.slot import loop, sweep
from workers.slot.sweep import DRAIN, drain_once, sweep_once

pytestmark = pytest.mark.requirement("A31")
LIMIT, TERM = 0.3, 3 * sweep.interval_seconds()
HOST = {"host": "localhost"}


@pytest.fixture
def cast(real_db: str, hot_store: redis.Redis, settings: Any, monkeypatch: Any) -> Cast:
    monkeypatch.setattr(metrics, "KEPT_SECONDS", 0.0)
    settings.ALLOWED_HOSTS = ["localhost", "127.0.0.1", "[::1]"]
    settings.GATEPOST_HOT_LAG_SECONDS = LIMIT
    return make_cast(" hot")


@pytest.fixture
def bench(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> Bench:
    bench = Bench(announce(ticking("hot"), TOOLS, []), cast.workspace)
    monkeypatch.setattr(loop, "agents", lambda: {"ticking": bench.agent})
    return bench


def text_of(page: str) -> str:
    """The words of a page, each space once."""
    return " ".join(re.sub(r"<[^>]+>", " ", page).split())


def shown(cast: Cast, path: str) -> str:
    return text_of(cast.client("operator").get(path, headers=HOST).content.decode())


def tile(cast: Cast, query: str = "") -> str:
    page = cast.client("operator").get(f"/overview/{query}", headers=HOST).content.decode()
    tiles = re.findall(r'<li class="card ([^"]*)">(.*?)</li>', page, re.DOTALL)
    texts = [(tone, text_of(text)) for tone, text in tiles if "Not stored yet" in text]
    return " | ".join(f"{tone} {text}".strip() for tone, text in texts)


def news() -> list[tuple[str, str]]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT kind, data ->> 'what' FROM gp_outbox WHERE kind LIKE 'hot_store%%' ORDER BY id"
        )
        return list(cursor.fetchall())


def test_every_door_shows_the_lag_while_nobody_drains_and_its_end(
    cast: Cast, bench: Bench, client: Client, box: Mailbox
) -> None:
    endpoints.make(
        cast.workspace, "email", Wanted(name="a", target="a@example.com"), actor="user:1"
    )
    looks: list[Any] = []
    look: Callable[..., None] = lambda workspace, **_: looks.append(workspace)  # noqa: E731
    board_changed.connect(look, weak=False)
    thread = bench.start(until=100)
    assert tile(cast) == "Not stored yet 0 steps all hot steps are in the database; alarm at 0.3 s"
    assert store.claim_duty(DRAIN, owner="a frozen worker", seconds=TERM)
    worked(bench, taken(thread), until=50)
    waiting = acknowledged(thread) - bench.row(thread).number
    assert waiting >= 40
    while streams.lag_of([thread])[thread].seconds < LIMIT:
        assert drain_once(owner="another worker") == 0
    # 1. The board, 2. the overview, 3. the metrics, 4. the page of the thread.
    assert "not stored for" in shown(cast, "/")
    assert tile(cast).startswith(f"t-fail Not stored yet {waiting} steps of 1 thread, oldest ")
    assert tile(cast, "?agent=other") == ""
    assert read(client)["gatepost_hot_steps", ()] == waiting
    assert f"{waiting} steps not in the database yet" in shown(cast, f"/threads/{thread}/")
    with logs_of(hot_store) as logged:
        assert announce_lag() == 1
        assert announce_lag() == 0  # it is said once
    assert [line["event"] for line in logged] == ["hot_store.late"]
    assert (news()[0][0], looks) == ("hot_store.late", [cast.workspace])
    assert f"Steps of ticking are not in the database ({waiting})" in news()[0][1]
    assert Sender().drain() == 1
    assert box.mails[-1][1]["subject"].startswith("Steps wait too long in the hot store")
    store.forget_duty(DRAIN, owner="a frozen worker")
    assert drain_once(owner="another worker") == waiting
    assert "not stored for" not in shown(cast, "/")
    assert tile(cast).startswith("Not stored yet 0 steps")
    assert read(client)["gatepost_hot_steps", ()] == 0
    assert "All steps are in the database." in shown(cast, f"/threads/{thread}/")
    assert (announce_lag(), announce_lag()) == (1, 0)
    assert [kind for kind, _ in news()] == ["hot_store.late", "hot_store.drained"]
    assert looks == [cast.workspace] * 2
    board_changed.disconnect(look)


def test_a_short_lag_is_no_alarm_and_no_word_on_the_board(
    cast: Cast, bench: Bench, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.GATEPOST_HOT_LAG_SECONDS = 30.0
    monkeypatch.setattr(sweep, "_lag_turn", store.Turn(seconds=30))
    thread = bench.start(until=100)
    worked(bench, taken(thread), until=50)
    assert "not stored for" not in shown(cast, "/")
    waiting = streams.lag_of([thread])[thread].entries
    assert tile(cast).startswith(f"Not stored yet {waiting} steps")  # and no tone
    assert sweep_once(owner="worker:1")["hot steps"] == 0
    assert news() == []


def test_a_hot_store_that_is_away_ends_no_alarm(cast: Cast, bench: Bench, settings: Any) -> None:
    thread = bench.start(until=100)
    worked(bench, taken(thread), until=50)
    while streams.lag_of([thread])[thread].seconds < LIMIT:
        pass
    assert announce_lag() == 1
    settings.HOT_URL = "unix:///nowhere/valkey.sock"
    assert announce_lag() == 0
    assert tile(cast) == "t-fail Not stored yet – the hot store doesn’t answer; alarm at 0.3 s"
    assert "not stored for" not in shown(cast, "/")
    assert [kind for kind, _ in news()] == ["hot_store.late"]
