"""Who may open a socket and how many, what it may follow, and when it is closed."""

from __future__ import annotations

import json
import time
from contextlib import ExitStack

import pytest
from django.conf import settings
from django.contrib.sessions.models import Session
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from checkpoints import store
from tests.unit.dashboard import scene

from .following import LATE, RECHECK, Follower, LiveThread, started
from .following import house as house
from .following import live as live


@pytest.mark.slow
def test_a_login_has_so_many_sockets_and_no_more(live: LiveThread) -> None:
    key, other = live.key("operator"), live.key("operator")
    most = settings.GATEPOST_SOCKETS_PER_LOGIN
    with ExitStack() as opened:
        lines = [opened.enter_context(live.server.open(key)) for _ in range(most)]
        one_more = opened.enter_context(live.server.open(key))
        code, reason = Follower(one_more).closed(seconds=LATE)
        assert (code, "Close some" in reason) == (4429, True)
        another = opened.enter_context(live.server.open(other))
        Follower(another, {live.name: (["thread-head"], 0)}).frame()
        lines.pop().close()
        limit = time.monotonic() + LATE
        while not _is_served(live, key):  # the server learns of the end after the page
            assert time.monotonic() < limit, "no other socket may take its place"


def _is_served(live: LiveThread, key: str) -> bool:
    with live.server.open(key) as line:
        try:
            Follower(line, {live.name: (["thread-head"], 0)}).frame()
        except ConnectionClosed:
            return False
    return True


@pytest.mark.slow
def test_zero_sockets_of_a_login_are_as_many_as_wanted(
    live: LiveThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GATEPOST_SOCKETS_PER_LOGIN", "0")
    key = live.key("operator")
    with started(600) as server, server.open(key) as one, server.open(key) as other:
        for line in (one, other):
            Follower(line, {live.name: (["thread-head"], 0)}).frame()


@pytest.mark.slow
def test_signing_out_closes_the_socket(live: LiveThread) -> None:
    key = live.key("operator")
    with live.server.open(key) as line:
        page = Follower(line, {live.name: (["thread-head"], 0)})
        page.frame()
        Session.objects.filter(session_key=key).delete()
        assert page.closed(seconds=RECHECK + LATE) == (4401, "You are signed out.")


@pytest.mark.slow
def test_losing_the_last_role_closes_the_socket(live: LiveThread) -> None:
    with live.follow("admin") as page, live.follow("auditor") as other:
        page.frame(), other.frame()
        workspace, users = live.cast.workspace, live.cast.users
        store.grant(workspace, users["nobody"].pk, "admin", actor="user:0")  # one must be left
        store.withdraw(workspace, users["admin"].pk, "admin", actor="user:0")
        code, reason = page.closed(seconds=RECHECK + LATE)
        assert (code, reason) == (4401, "You are signed out.")
        live.pause()
        other.frame("Paused")


def test_new_roles_reach_an_open_page(live: LiveThread) -> None:
    with live.follow("viewer") as page:
        assert "Needs the role operator" in page.frame()["regions"]["thread-head"]
        whose = (live.cast.workspace, live.cast.users["viewer"].pk, "operator")
        store.grant(*whose, actor="user:0")
        frame = page.frame(seconds=RECHECK + LATE)
        store.withdraw(*whose, actor="user:0")
        assert 'data-action="pause" data-key="p"' in frame["regions"]["thread-head"]


@pytest.mark.parametrize("origin", ["http://evil.example", "https://localhost:{port}", "null"])
def test_pages_from_elsewhere_may_not_connect(live: LiveThread, origin: str) -> None:
    with pytest.raises(InvalidStatus) as refusal:
        live.server.open(live.key("operator"), origin=origin.format(port=live.server.port))
    assert refusal.value.response.status_code == 403


def test_there_is_one_address_of_sockets(live: LiveThread) -> None:
    with pytest.raises(InvalidStatus) as refusal:
        connect(
            f"ws://localhost:{live.server.port}/ws/other/",
            origin=live.server.origin,
            proxy=None,
        )
    assert refusal.value.response.status_code == 403


def test_another_port_is_elsewhere(live: LiveThread) -> None:
    with pytest.raises(InvalidStatus):
        live.server.open(live.key("operator"), origin=f"http://localhost:{live.server.port + 1}")


@pytest.mark.parametrize("key", ["", "nonsense"])
def test_strangers_are_told_to_sign_in(live: LiveThread, key: str) -> None:
    with live.server.open(key) as line:
        assert Follower(line).closed(seconds=LATE) == (4401, "You are signed out.")


@pytest.mark.slow
def test_other_workspaces_are_not_followed(live: LiveThread) -> None:
    row = scene.waiting(live.cast.workspace, live.agent)
    for topics in ({live.name: (["thread-head"], 0)}, {f"approval:{row.id}": ([], 0)}):
        with live.follow("stranger", topics) as page:
            code, reason = page.closed(seconds=LATE)
            assert (code, reason) == (4403, "This page shows something you may not see.")
    with live.follow("stranger", {"board": (["board-lanes"], 0)}) as page:
        assert "No thread yet" in page.frame()["regions"]["board-lanes"]
        live.pause()
        with pytest.raises(TimeoutError):
            page.frame(seconds=0.5)


@pytest.mark.slow
def test_nonsense_is_answered_in_words(live: LiveThread) -> None:
    for text in ("what?", "[" * 15_000 + "]" * 15_000, '{"a":' * 6_000):
        with live.server.open(live.key("operator")) as line:
            line.send(text)
            message = json.loads(line.recv(LATE))
            assert message["type"] == "closed"
            with pytest.raises(ConnectionClosed) as end:
                line.recv(LATE)
            assert end.value.rcvd is not None
            assert end.value.rcvd.code == 4400
