"""Pages that follow the server: a real uvicorn, a real Valkey, real sockets."""

from __future__ import annotations

import json
import socket
import statistics
import time
from pathlib import Path
from typing import Any

import pytest
import redis
from django.conf import settings

from approvals.incidents import queries
from approvals.incidents.sweep import sweep_incidents
from checkpoints.states import EventKind
from dashboard.board.incidents.close import CLOSE, CloseIncident
from dashboard.board.incidents.take import TAKE
from dashboard.kit.shapes.requests import Nothing
from dashboard.wire import hints
from dashboard.wire.progress import publish_progress
from tests.support.cast import Cast
from tests.support.valkey_away import count_attempts
from tests.unit.approvals.incidents.scenes import fails
from tests.unit.dashboard import scene

from .following import LATE, LiveThread, started
from .following import house as house
from .following import live as live


@pytest.mark.slow
def test_a_change_is_pushed(live: LiveThread) -> None:
    with live.follow("operator") as one, live.follow("auditor") as other:
        assert "Queued" in one.frame()["regions"]["thread-head"]
        other.frame()
        live.pause()
        frame = one.frame("Paused")
        assert (frame["topic"], frame["seq"]) == (live.name, 2)
        assert "Resume" in frame["regions"]["thread-head"]
        assert "Needs the role operator" in other.frame("Paused")["regions"]["thread-head"]


@pytest.mark.slow
def test_pushes_come_within_milliseconds(live: LiveThread, record_property: Any) -> None:
    took = []
    with live.follow("viewer") as page:
        page.frame()
        for i in range(30):
            began = time.perf_counter()
            page.frame(live.turn(i))
            took.append((time.perf_counter() - began) * 1000)
            time.sleep(0.06)  # the pace of one topic
    record_property("change_to_frame_p50_ms", round(statistics.median(took), 1))
    print(f"change -> frame: p50 {statistics.median(took):.1f} ms, max {max(took):.1f} ms")
    assert statistics.median(took) < 250


@pytest.mark.slow
def test_board_inbox_and_request_follow_too(live: LiveThread) -> None:
    row = scene.waiting(live.cast.workspace, live.agent)
    topics = {
        "board": (["board-counts", "board-lanes", "board-feed"], 0),
        "approvals": (["nav-approvals", "inbox-list"], 0),
        f"approval:{row.id}": (["approval-main", "approval-side"], 0),
    }
    with live.follow("manager", topics) as page:
        first = {page.frame()["topic"] for _ in topics}
        assert first == set(topics)
        answer = live.cast.client("second_manager").post(
            f"/approvals/{row.id}/decide/",
            {"verdict": "approve", "proposal_hash": row.proposal_hash, "comment": "looks right"},
        )
        assert answer.status_code == 303
        seen: dict[str, str] = {}
        limit = time.monotonic() + LATE
        while not {"approval-main", "approval-side", "board-feed", "inbox-list"} <= set(seen):
            seen |= page.frame(seconds=limit - time.monotonic())["regions"]
        assert "looks right" in seen["approval-main"]
        assert "Recorded at" in seen["approval-side"]
        assert "looks right" in seen["board-feed"]
        assert str(row.id) not in seen["inbox-list"]


def test_incidents_come_and_are_taken_before_open_pages(live: LiveThread) -> None:
    """A page of another list gets no HTML, and news of it all the same: it fetches its own."""
    topics = {"incidents": (["incidents-list"], 0)}
    narrowed: dict[str, Any] = {"incidents": ([], 0)}
    with live.follow("viewer", topics) as page, live.follow("viewer", narrowed) as other:
        assert "No open incident" in page.frame()["regions"]["incidents-list"]
        other.frame()
        fails(live.cast, "publish: HTTP 503", agent="outreach")
        sweep_incidents()
        frame = page.frame("publish: HTTP 503")
        assert frame["topic"] == "incidents"
        assert other.frame()["regions"] == {}
        (row,) = queries.incidents(workspace=live.cast.workspace)
        TAKE.run(live.cast.actor("operator"), Nothing(), row.id)
        assert "operator" in page.frame(">Taken<")["regions"]["incidents-list"]
        one = {f"incident:{row.id}": (["incident-head", "incident-facts", "incident-newest"], 0)}
        with live.follow("viewer", one) as detail:
            assert "operator" in detail.frame(">Taken<")["regions"]["incident-facts"]
            fails(live.cast, "publish: HTTP 504", agent="outreach")
            sweep_incidents()
            frame = detail.frame("2 threads of outreach")
            assert frame["regions"]["incident-newest"].count('id="part-') == 2
            CLOSE.run(live.cast.actor("operator"), CloseIncident(reason="known"), row.id)
            assert "known" in detail.frame(">Closed<")["regions"]["incident-facts"]
        page.frame("No open incident")
        # A thread that only goes on is no news of incidents.
        live.pause()
        with pytest.raises(TimeoutError):
            page.message("frame", seconds=0.5)


def test_a_base_shows_its_new_fork(live: LiveThread) -> None:
    scene.step(scene.lease(live.thread), leave_by=EventKind.THREAD_PAUSED)
    with live.follow("viewer", {live.name: (["thread-forks"], 0)}) as page:
        page.frame()
        answer = live.cast.client("manager").post(
            f"/threads/{live.thread}/fork/?checkpoint=1", {"title": "The other way"}
        )
        assert answer.status_code == 303
        assert "The other way" in page.frame()["regions"]["thread-forks"]


def test_an_old_page_catches_up_when_it_joins(live: LiveThread) -> None:
    live.pause()
    with live.follow("operator", {live.name: (["thread-head"], 1)}) as page:
        assert page.frame("Paused")["seq"] == 2
    newest = {live.name: (["thread-head"], 2)}
    with live.follow("operator", newest) as page, pytest.raises(TimeoutError):
        page.message("frame", seconds=0.5)


@pytest.mark.nightly
def test_without_hints_the_poll_moves_the_page(
    live: LiveThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hints, "publish", lambda *texts: None)
    topics = {live.name: (["thread-head"], 0), "board": (["board-lanes"], 0)}
    with started(1) as live.server, live.follow("operator", topics) as page:
        assert {page.frame()["topic"] for _ in topics} == set(topics)
        began = time.monotonic()
        live.pause()
        assert {page.frame()["topic"] for _ in topics} == set(topics)
        assert time.monotonic() - began < 1 + LATE
        page.message("beat")


def cut(valkey: redis.Redis) -> None:
    """End the hub's subscription; it has to be there, though a poll may have told pages sooner."""
    limit = time.monotonic() + LATE
    while not valkey.client_kill_filter(_type="pubsub"):
        assert time.monotonic() < limit, "the hub has not subscribed again"
        time.sleep(0.01)


def test_a_cut_subscription_is_renewed(live: LiveThread) -> None:
    valkey = redis.Redis.from_url(settings.REDIS_URL)
    with live.follow("operator") as page:
        page.frame()
        for i in range(3):
            cut(valkey)
            valkey.flushall()
            # What happens while the hub is deaf is seen when it hears again.
            page.frame(live.turn(i))
        page.frame(live.turn(3))
    valkey.close()


@pytest.mark.slow
def test_a_stopped_reader_delays_nobody(live: LiveThread) -> None:
    topics = {live.name: (["thread-head", "thread-events", "thread-state"], 0)}
    with live.follow("operator", topics) as page:
        page.frame()
        stopped = socket.create_connection(("127.0.0.1", live.server.port))
        stopped.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
        # The client library would read in the background; this one never does.
        handshake = (
            f"GET /ws/live/ HTTP/1.1\r\nHost: localhost:{live.server.port}\r\n"
            f"Origin: {live.server.origin}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
            f"Cookie: {settings.SESSION_COOKIE_NAME}={live.key('operator')}\r\n\r\n"
        )
        stopped.sendall(handshake.encode())
        join = json.dumps(
            {
                "type": "join",
                "regions": [{"id": r, "topic": live.name} for r in topics[live.name][0]],
                "topics": {live.name: 0},
            }
        ).encode()
        mask = b"\0\0\0\0"
        stopped.sendall(b"\x81" + bytes([0x80 | 126]) + len(join).to_bytes(2, "big") + mask + join)
        for i in range(40):
            began = time.monotonic()
            page.frame(live.turn(i))
            assert time.monotonic() - began < LATE
        stopped.close()


def test_a_valkey_that_is_away_delays_nothing(
    cast: Cast,
    settings: Any,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    attempts = count_attempts(monkeypatch)
    settings.REDIS_URL = f"unix://{tmp_path}/nothing.sock"
    agent = scene.make_agent()
    for _ in range(50):
        scene.start(cast.workspace, agent)
    publish_progress(scene.start(cast.workspace, agent), cast.workspace, {"done": 1})
    assert cast.client("viewer").get("/").status_code == 200
    assert len(attempts) == 1, "no later commit or page waits for it"
    assert caplog.text.count("Valkey is away") <= 1
