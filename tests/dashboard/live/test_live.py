"""Pages that follow the server: a real uvicorn, a real Valkey, real sockets."""

from __future__ import annotations

import json
import os
import socket
import statistics
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
import redis
from django.conf import settings
from django.contrib.sessions.models import Session
from pytest_django import DjangoDbBlocker
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from approvals.incidents import queries
from approvals.incidents.sweep import sweep_incidents
from checkpoints import store
from checkpoints.signals import activity_progressed
from checkpoints.states import EventKind
from dashboard import actions
from dashboard.wire import hints
from dashboard.wire.progress import publish_progress, read_progress
from tests.approvals.incidents.scenes import fails
from tests.cast import Cast, make_cast
from tests.conftest import real_database
from tests.dashboard import scene
from tests.embedded.helpers import free_port

ROOT = Path(__file__).resolve().parents[3]
LATE = 10.0  # seconds; generous, since the machine may be busy: the hub's own pace is milliseconds
RECHECK = 1.0


class Server:
    """A web process on the database of this test."""

    def __init__(self, *, poll: float, recheck: float = RECHECK) -> None:
        self.port = free_port()
        self.origin = f"http://localhost:{self.port}"
        self.process = subprocess.Popen(
            [
                *(sys.executable, "-m", "uvicorn", "dashboard.asgi:application"),
                *("--host", "127.0.0.1", "--port", str(self.port), "--log-level", "warning"),
                *("--ws-per-message-deflate", "false", "--timeout-graceful-shutdown", "1"),
            ],
            cwd=ROOT,
            env=os.environ
            | {
                "DJANGO_SETTINGS_MODULE": "tests.settings",
                "GATEPOST_ROLE": "web",
                "GATEPOST_POLL_SECONDS": str(poll),
                "GATEPOST_RECHECK_SECONDS": str(recheck),
                "PYTHONWARNINGS": "error",
            },
        )
        limit = time.monotonic() + 30
        while True:
            try:
                urllib.request.urlopen(f"{self.origin}/healthz", timeout=5).close()
                return
            except OSError:
                assert self.process.poll() is None, "the server ended"
                assert time.monotonic() < limit, "the server does not answer"
                time.sleep(0.05)

    def stop(self) -> int:
        self.process.terminate()
        return self.process.wait(10)

    def open(self, key: str, *, origin: str | None = None, **options: Any) -> ClientConnection:
        headers = {"Cookie": f"{settings.SESSION_COOKIE_NAME}={key}"} if key else {}
        return connect(
            f"ws://localhost:{self.port}/ws/live/",
            origin=origin or self.origin,
            additional_headers=headers,
            compression=None,
            proxy=None,
            **options,
        )


class Follower:
    """A page that follows some topics."""

    def __init__(
        self, line: ClientConnection, topics: dict[str, tuple[list[str], int]] | None = None
    ) -> None:
        self.line = line
        if topics is None:
            return
        line.send(
            json.dumps(
                {
                    "type": "join",
                    "regions": [
                        {"id": region, "topic": name}
                        for name, (regions, _) in topics.items()
                        for region in regions
                    ],
                    "topics": {name: seq for name, (_, seq) in topics.items()},
                }
            )
        )

    def message(self, kind: str, *, seconds: float = LATE) -> dict[str, Any]:
        limit = time.monotonic() + seconds
        while True:
            payload = json.loads(self.line.recv(max(limit - time.monotonic(), 0.01)))
            if payload["type"] == kind:
                return payload

    def frame(self, words: str = "", *, seconds: float = LATE) -> dict[str, Any]:
        """The next frame whose regions hold `words`."""
        limit = time.monotonic() + seconds
        while True:
            message = self.message("frame", seconds=limit - time.monotonic())
            if words in json.dumps(message["regions"], ensure_ascii=False):
                return message

    def drain(self, seconds: float) -> None:
        """Read until the line is cut."""
        while True:
            self.line.recv(seconds)

    def closed(self, *, seconds: float) -> tuple[int, str]:
        """(close code, reason) of the goodbye."""
        reason = self.message("closed", seconds=seconds)["reason"]
        with pytest.raises(ConnectionClosed) as end:
            self.drain(seconds)
        assert end.value.rcvd is not None
        return end.value.rcvd.code, reason


class Place:
    """A server, people, and a thread of this test alone."""

    def __init__(self, server: Server, cast: Cast, agent: UUID) -> None:
        self.server, self.cast, self.agent = server, cast, agent
        self.thread = scene.start(cast.workspace, self.agent)
        self.name = f"thread:{self.thread}"

    def key(self, name: str) -> str:
        return str(self.cast.client(name).session.session_key)

    @contextmanager
    def follow(
        self, person: str, topics: dict[str, tuple[list[str], int]] | None = None
    ) -> Iterator[Follower]:
        with self.server.open(self.key(person)) as line:
            yield Follower(line, topics or {self.name: (["thread-head"], 0)})

    def pause(self) -> None:
        store.pause(self.thread, actor="user:1")

    def resume(self) -> None:
        store.resume(self.thread, actor="user:1")

    def turn(self, i: int) -> str:
        """Pause and resume by turns; the status that a page shows then."""
        if i % 2:
            self.resume()
        else:
            self.pause()
        return "Queued" if i % 2 else "Paused"


@contextmanager
def started(poll: float) -> Iterator[Server]:
    server = Server(poll=poll)
    try:
        yield server
    finally:
        code = server.stop()
    assert code in (0, -15), "the server did not end well"


@pytest.fixture(scope="module")
def house(
    django_db_setup: None, django_db_blocker: DjangoDbBlocker
) -> Iterator[tuple[Server, Cast, UUID]]:
    """One database and one server for all tests here.

    Only pushes can move a page of this server: its poll comes after ten minutes.
    """
    with django_db_blocker.unblock(), real_database("gatepost_test_live"):
        cast, agent = make_cast(), scene.make_agent()
        scene.alive(agent)
        with started(600) as server:
            yield server, cast, agent


@pytest.fixture
def place(house: tuple[Server, Cast, UUID]) -> Place:
    """A thread of this test alone."""
    return Place(*house)


def test_a_change_is_pushed(place: Place) -> None:
    with place.follow("operator") as one, place.follow("auditor") as other:
        assert "Queued" in one.frame()["regions"]["thread-head"]
        other.frame()
        place.pause()
        frame = one.frame("Paused")
        assert (frame["topic"], frame["seq"]) == (place.name, 2)
        assert "Resume" in frame["regions"]["thread-head"]
        assert "Needs the role operator" in other.frame("Paused")["regions"]["thread-head"]


def test_pushes_come_within_milliseconds(place: Place, record_property: Any) -> None:
    took = []
    with place.follow("viewer") as page:
        page.frame()
        for i in range(30):
            began = time.perf_counter()
            page.frame(place.turn(i))
            took.append((time.perf_counter() - began) * 1000)
            time.sleep(0.06)  # the pace of one topic
    record_property("change_to_frame_p50_ms", round(statistics.median(took), 1))
    print(f"change -> frame: p50 {statistics.median(took):.1f} ms, max {max(took):.1f} ms")
    assert statistics.median(took) < 250


def test_board_inbox_and_request_follow_too(place: Place) -> None:
    row = scene.waiting(place.cast.workspace, place.agent)
    topics = {
        "board": (["board-counts", "board-lanes", "board-feed"], 0),
        "approvals": (["nav-approvals", "inbox-list"], 0),
        f"approval:{row.id}": (["approval-main", "approval-side"], 0),
    }
    with place.follow("manager", topics) as page:
        first = {page.frame()["topic"] for _ in topics}
        assert first == set(topics)
        answer = place.cast.client("second_manager").post(
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


def test_incidents_come_and_are_taken_before_open_pages(place: Place) -> None:
    """A page of another list gets no HTML, and news of it all the same: it fetches its own."""
    topics = {"incidents": (["incidents-list"], 0)}
    narrowed: dict[str, Any] = {"incidents": ([], 0)}
    with place.follow("viewer", topics) as page, place.follow("viewer", narrowed) as other:
        assert "No open incident" in page.frame()["regions"]["incidents-list"]
        other.frame()
        fails(place.cast, "publish: HTTP 503", agent="outreach")
        sweep_incidents()
        frame = page.frame("publish: HTTP 503")
        assert frame["topic"] == "incidents"
        assert other.frame()["regions"] == {}
        (row,) = queries.incidents(workspace=place.cast.workspace)
        actions.take_incident(place.cast.actor("operator"), row.id)
        assert "operator" in page.frame(">Taken<")["regions"]["incidents-list"]
        one = {f"incident:{row.id}": (["incident-head", "incident-facts", "incident-newest"], 0)}
        with place.follow("viewer", one) as detail:
            assert "operator" in detail.frame(">Taken<")["regions"]["incident-facts"]
            fails(place.cast, "publish: HTTP 504", agent="outreach")
            sweep_incidents()
            frame = detail.frame("2 threads of outreach")
            assert frame["regions"]["incident-newest"].count('id="part-') == 2
            actions.close_incident(place.cast.actor("operator"), row.id, "known")
            assert "known" in detail.frame(">Closed<")["regions"]["incident-facts"]
        page.frame("No open incident")
        # A thread that only goes on is no news of incidents.
        place.pause()
        with pytest.raises(TimeoutError):
            page.message("frame", seconds=0.5)


def test_a_base_shows_its_new_fork(place: Place) -> None:
    scene.step(scene.lease(place.thread), leave_by=EventKind.THREAD_PAUSED)
    with place.follow("viewer", {place.name: (["thread-forks"], 0)}) as page:
        page.frame()
        answer = place.cast.client("manager").post(
            f"/threads/{place.thread}/fork/?checkpoint=1", {"title": "The other way"}
        )
        assert answer.status_code == 303
        assert "The other way" in page.frame()["regions"]["thread-forks"]


def test_an_old_page_catches_up_when_it_joins(place: Place) -> None:
    place.pause()
    with place.follow("operator", {place.name: (["thread-head"], 1)}) as page:
        assert page.frame("Paused")["seq"] == 2
    newest = {place.name: (["thread-head"], 2)}
    with place.follow("operator", newest) as page, pytest.raises(TimeoutError):
        page.message("frame", seconds=0.5)


@pytest.mark.nightly
def test_without_hints_the_poll_moves_the_page(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hints, "publish", lambda *texts: None)
    topics = {place.name: (["thread-head"], 0), "board": (["board-lanes"], 0)}
    with started(1) as place.server, place.follow("operator", topics) as page:
        assert {page.frame()["topic"] for _ in topics} == set(topics)
        began = time.monotonic()
        place.pause()
        assert {page.frame()["topic"] for _ in topics} == set(topics)
        assert time.monotonic() - began < 1 + LATE
        page.message("beat")


def cut(valkey: redis.Redis) -> None:
    """End the hub's subscription; it has to be there, though a poll may have told pages sooner."""
    limit = time.monotonic() + LATE
    while not valkey.client_kill_filter(_type="pubsub"):
        assert time.monotonic() < limit, "the hub has not subscribed again"
        time.sleep(0.01)


def test_a_cut_subscription_is_renewed(place: Place) -> None:
    valkey = redis.Redis.from_url(settings.REDIS_URL)
    with place.follow("operator") as page:
        page.frame()
        for i in range(3):
            cut(valkey)
            valkey.flushall()
            # What happens while the hub is deaf is seen when it hears again.
            page.frame(place.turn(i))
        page.frame(place.turn(3))
    valkey.close()


def test_progress_goes_straight_through(place: Place) -> None:
    with place.follow("viewer") as page:
        page.frame()
        for done in range(1, 26):
            activity_progressed.send_robust(
                sender=None,
                thread_id=place.thread,
                workspace=place.cast.workspace,
                progress={"node": "load", "done": done, "total": 25, "text": "Reading"},
            )
        seen = [page.message("progress") for _ in range(25)]
    assert [m["done"] for m in seen] == list(range(1, 26))
    assert seen[-1] == {
        "type": "progress",
        "topic": place.name,
        "done": 25,
        "total": 25,
        "text": "Reading",
    }
    newest = read_progress([place.thread])[place.thread]
    assert newest == {"done": 25, "total": 25, "text": "Reading"}
    ttl = hints.client().ttl(f"progress:{place.thread}")
    assert 50 < ttl <= 60


@pytest.mark.requirement("E09")
def test_what_a_model_has_said_so_far_goes_straight_through(place: Place) -> None:
    def say(text: str) -> None:
        activity_progressed.send_robust(
            sender=None,
            thread_id=place.thread,
            workspace=place.cast.workspace,
            progress={"node": "load", "done": None, "total": None, "text": "", "stream": text},
        )

    scene.lease(place.thread)
    client = place.cast.client("viewer")
    with place.follow("viewer") as page:
        page.frame()
        say("One")
        say("One two <b>\u202e")
        seen = [page.message("progress") for _ in range(2)]
        assert [(m["node"], m["stream"]) for m in seen] == [
            ("load", "One"),
            ("load", "One two <b>\u202e"),
        ]
        # Who opens the page now sees it too, and afterwards nobody does.
        shown = client.get(f"/threads/{place.thread}/").content.decode()
        assert "One two &lt;b&gt;" in shown
        say("")
        assert page.message("progress")["stream"] == ""
    assert read_progress([place.thread]) == {}
    assert "One two" not in client.get(f"/threads/{place.thread}/").content.decode()


def test_pages_show_the_newest_progress_at_once(place: Place) -> None:
    scene.lease(place.thread)
    client, html = place.cast.client("viewer"), ""
    # On a busy machine Valkey may take longer than a page or a commit waits for it.
    limit = time.monotonic() + LATE
    while "5 of 9" not in html and time.monotonic() < limit:
        report = {"done": 5, "total": 9, "text": "Rows"}
        publish_progress(place.thread, place.cast.workspace, report)
        html = client.get(f"/threads/{place.thread}/").content.decode()
    assert "5 of 9" in html


def test_a_login_has_so_many_sockets_and_no_more(place: Place) -> None:
    key, other = place.key("operator"), place.key("operator")
    most = settings.GATEPOST_SOCKETS_PER_LOGIN
    with ExitStack() as opened:
        lines = [opened.enter_context(place.server.open(key)) for _ in range(most)]
        one_more = opened.enter_context(place.server.open(key))
        code, reason = Follower(one_more).closed(seconds=LATE)
        assert (code, "Close some" in reason) == (4429, True)
        another = opened.enter_context(place.server.open(other))
        Follower(another, {place.name: (["thread-head"], 0)}).frame()
        lines.pop().close()
        time.sleep(0.2)
        again = opened.enter_context(place.server.open(key))
        Follower(again, {place.name: (["thread-head"], 0)}).frame()


def test_zero_sockets_of_a_login_are_as_many_as_wanted(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GATEPOST_SOCKETS_PER_LOGIN", "0")
    key = place.key("operator")
    with started(600) as server, server.open(key) as one, server.open(key) as other:
        for line in (one, other):
            Follower(line, {place.name: (["thread-head"], 0)}).frame()


def test_signing_out_closes_the_socket(place: Place) -> None:
    key = place.key("operator")
    with place.server.open(key) as line:
        page = Follower(line, {place.name: (["thread-head"], 0)})
        page.frame()
        Session.objects.filter(session_key=key).delete()
        assert page.closed(seconds=RECHECK + LATE) == (4401, "You are signed out.")


def test_losing_the_last_role_closes_the_socket(place: Place) -> None:
    with place.follow("admin") as page, place.follow("auditor") as other:
        page.frame(), other.frame()
        workspace, users = place.cast.workspace, place.cast.users
        store.grant(workspace, users["nobody"].pk, "admin", actor="user:0")  # one must be left
        store.withdraw(workspace, users["admin"].pk, "admin", actor="user:0")
        code, reason = page.closed(seconds=RECHECK + LATE)
        assert (code, reason) == (4401, "You are signed out.")
        place.pause()
        other.frame("Paused")


def test_new_roles_reach_an_open_page(place: Place) -> None:
    with place.follow("viewer") as page:
        assert "Needs the role operator" in page.frame()["regions"]["thread-head"]
        whose = (place.cast.workspace, place.cast.users["viewer"].pk, "operator")
        store.grant(*whose, actor="user:0")
        frame = page.frame(seconds=RECHECK + LATE)
        store.withdraw(*whose, actor="user:0")
        assert 'data-action="pause" data-key="p"' in frame["regions"]["thread-head"]


def test_a_stopped_reader_delays_nobody(place: Place) -> None:
    topics = {place.name: (["thread-head", "thread-events", "thread-state"], 0)}
    with place.follow("operator", topics) as page:
        page.frame()
        stopped = socket.create_connection(("127.0.0.1", place.server.port))
        stopped.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
        # The client library would read in the background; this one never does.
        handshake = (
            f"GET /ws/live/ HTTP/1.1\r\nHost: localhost:{place.server.port}\r\n"
            f"Origin: {place.server.origin}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
            f"Cookie: {settings.SESSION_COOKIE_NAME}={place.key('operator')}\r\n\r\n"
        )
        stopped.sendall(handshake.encode())
        join = json.dumps(
            {
                "type": "join",
                "regions": [{"id": r, "topic": place.name} for r in topics[place.name][0]],
                "topics": {place.name: 0},
            }
        ).encode()
        mask = b"\0\0\0\0"
        stopped.sendall(b"\x81" + bytes([0x80 | 126]) + len(join).to_bytes(2, "big") + mask + join)
        for i in range(40):
            began = time.monotonic()
            page.frame(place.turn(i))
            assert time.monotonic() - began < LATE
        stopped.close()


@pytest.mark.parametrize("origin", ["http://evil.example", "https://localhost:{port}", "null"])
def test_pages_from_elsewhere_may_not_connect(place: Place, origin: str) -> None:
    with pytest.raises(InvalidStatus) as refusal:
        place.server.open(place.key("operator"), origin=origin.format(port=place.server.port))
    assert refusal.value.response.status_code == 403


def test_there_is_one_address_of_sockets(place: Place) -> None:
    with pytest.raises(InvalidStatus) as refusal:
        connect(
            f"ws://localhost:{place.server.port}/ws/other/",
            origin=place.server.origin,
            proxy=None,
        )
    assert refusal.value.response.status_code == 403


def test_another_port_is_elsewhere(place: Place) -> None:
    with pytest.raises(InvalidStatus):
        place.server.open(place.key("operator"), origin=f"http://localhost:{place.server.port + 1}")


@pytest.mark.parametrize("key", ["", "nonsense"])
def test_strangers_are_told_to_sign_in(place: Place, key: str) -> None:
    with place.server.open(key) as line:
        assert Follower(line).closed(seconds=LATE) == (4401, "You are signed out.")


@pytest.mark.slow
def test_other_workspaces_are_not_followed(place: Place) -> None:
    row = scene.waiting(place.cast.workspace, place.agent)
    for topics in ({place.name: (["thread-head"], 0)}, {f"approval:{row.id}": ([], 0)}):
        with place.follow("stranger", topics) as page:
            code, reason = page.closed(seconds=LATE)
            assert (code, reason) == (4403, "This page shows something you may not see.")
    with place.follow("stranger", {"board": (["board-lanes"], 0)}) as page:
        assert "No thread yet" in page.frame()["regions"]["board-lanes"]
        place.pause()
        with pytest.raises(TimeoutError):
            page.frame(seconds=0.5)


@pytest.mark.slow
def test_nonsense_is_answered_in_words(place: Place) -> None:
    for text in ("what?", "[" * 15_000 + "]" * 15_000, '{"a":' * 6_000):
        with place.server.open(place.key("operator")) as line:
            line.send(text)
            message = json.loads(line.recv(LATE))
            assert message["type"] == "closed"
            with pytest.raises(ConnectionClosed) as end:
                line.recv(LATE)
            assert end.value.rcvd is not None
            assert end.value.rcvd.code == 4400


def test_a_valkey_that_is_away_delays_nothing(
    cast: Cast, settings: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    settings.REDIS_URL = f"unix://{tmp_path}/nothing.sock"
    agent = scene.make_agent()
    began = time.monotonic()
    for _ in range(50):
        scene.start(cast.workspace, agent)
    publish_progress(scene.start(cast.workspace, agent), cast.workspace, {"done": 1})
    assert cast.client("viewer").get("/").status_code == 200
    assert time.monotonic() - began < 10
    assert caplog.text.count("Valkey is away") <= 1
    hints._away = False
