"""Steps that are only buffered: API, command and pages say how many, and what a change drops."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from django.core.management import call_command

from checkpoints.durabilities import MAY_LOSE
from checkpoints.hot import streams
from tests.support.cast import Cast
from tests.unit.checkpoints.builders import expire
from tests.unit.workers.conftest import Bench
from tests.unit.workers.graphs.ticking import TOOLS, ticking
from tests.unit.workers.step.test_hot_ledger import acknowledged, taken, worked
from workers.code.registry import announce

pytestmark = [pytest.mark.usefixtures("hot_store"), pytest.mark.requirement("A31")]


class Hot:
    """One hot thread, its worker dead at step 37, as people meet it."""

    def __init__(self, cast: Cast, acknowledge: str | None = None) -> None:
        graph = ticking("hot", acknowledge=acknowledge)
        self.cast, self.bench = cast, Bench(announce(graph, TOOLS, []), cast.workspace)
        self.client = cast.client("operator")
        self.id = self.bench.start(until=60)
        self.ledger = worked(self.bench, taken(self.id), until=37)

    def call(self, path: str = "", body: Any = None, *, status: int = 200) -> Any:
        path = f"/api/v1/threads/{self.id}/{path}"
        if body is None:
            answer = self.client.get(path)
        else:
            answer = self.client.post(path, json.dumps(body), content_type="application/json")
        assert answer.status_code == status, answer.content.decode()
        return answer.json()

    def page(self, path: str = "") -> str:
        answer = self.client.get(f"/threads/{self.id}/{path}")
        assert answer.status_code == 200
        return str(answer.content.decode())


def command(*words: str) -> str:
    out = io.StringIO()
    call_command(*words, "--as", "operator", stdout=out)
    return " ".join(out.getvalue().split())


@pytest.fixture
def away(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Take the hot store away."""
    monkeypatch.setattr(streams, "PATIENCE", 0.1)

    def take() -> None:
        settings.HOT_URL = "unix:///nowhere/valkey.sock"

    return take


def test_an_answer_says_what_is_only_buffered(cast: Cast, away: Any) -> None:
    hot = Hot(cast)
    detail = hot.call()
    waiting = acknowledged(hot.id)
    assert waiting > 20
    assert detail["buffered"] == {
        "acknowledge": "buffered",
        "steps": waiting,
        "durable_seq": detail["last_seq"],
        "durable_number": 0,
    }
    assert hot.call("state/")["context"]["buffered"] == detail["buffered"]
    # What people do is in the database when it is answered.
    assert hot.call("pause/", {})["buffered"]["steps"] == waiting
    away()
    assert hot.call()["buffered"]["steps"] is None


@pytest.mark.parametrize("acknowledge", ["everysec", "durable"])
def test_the_choice_of_the_agent_is_said(cast: Cast, acknowledge: str) -> None:
    hot = Hot(cast, acknowledge)
    may_lose = acknowledge == "everysec"
    form = hot.client.get("/threads/new/?agent=ticking").content.decode()
    shown, of_thread = command("agent", "show", "ticking"), command("threads", "show", str(hot.id))
    for text in (hot.page(), form, shown, of_thread):
        assert (MAY_LOSE in " ".join(text.split())) is may_lose
    agent = hot.client.get("/api/v1/agents/ticking/").json()
    assert (agent["durability"], agent["acknowledge"]) == ("hot", acknowledge)
    assert (hot.call()["buffered"] is None) is not may_lose
    if not may_lose:
        assert "Each step is acknowledged in the database." in hot.page()


def test_a_preview_says_what_a_change_drops_while_the_hot_store_is_away(
    cast: Cast, away: Any
) -> None:
    hot = Hot(cast)
    assert hot.call("cancel/?preview=1", {})["dropped"] == ""
    unknown = "Steps after checkpoint #0 that only it holds are dropped: nobody knows how many."
    last = acknowledged(hot.id)
    away()
    assert unknown in hot.call("cancel/?preview=1", {})["dropped"]
    hot.ledger.report()
    known = f"dropped: at least those up to #{last}."
    assert known in hot.call("cancel/?preview=1", {})["dropped"]
    assert known in hot.page("cancel/")
    assert f"up to #{last}" in command("threads", "cancel", str(hot.id), "--preview")
    expire(hot.id)
    assert hot.call("cancel/", {})["status"] == "cancelled"
    text = " ".join(hot.page().split())
    assert f"At least checkpoints #1 to #{last} were lost, maybe more" in text
