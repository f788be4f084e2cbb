"""A server and pages that follow it over real sockets, for the tests of this folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.conf import settings
from pytest_django import DjangoDbBlocker
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from checkpoints import store
from tests.conftest import real_database
from tests.faults.embedded.helpers import free_port
from tests.support.cast import Cast, make_cast
from tests.unit.dashboard import scene

ROOT = Path(__file__).resolve().parents[4]
LATE = 30.0  # seconds; generous, since the machine may be busy: the hub's own pace is milliseconds
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
                "DJANGO_SETTINGS_MODULE": "tests.support.settings",
                "GATEPOST_ROLE": "web",
                "GATEPOST_POLL_SECONDS": str(poll),
                "GATEPOST_RECHECK_SECONDS": str(recheck),
                "PYTHONWARNINGS": "error",
            },
        )
        limit = time.monotonic() + 90
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
        return self.process.wait(60)

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
        if not topics:
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


class LiveThread:
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
            yield Follower(
                line, topics if topics is not None else {self.name: (["thread-head"], 0)}
            )

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
def live(house: tuple[Server, Cast, UUID]) -> LiveThread:
    """A thread of this test alone."""
    return LiveThread(*house)
