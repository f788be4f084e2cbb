"""PostgreSQL stands still as a whole: no request, worker or command waits without bound for it.

Once it goes on they go on as well.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.db import ConnectionHandler, OperationalError, connection
from pytest_django import DjangoDbBlocker

from dashboard.configuration.database import database
from tests.faults.bench import wait_until

from .own_servers import Ground, own_ground

pytestmark = [pytest.mark.nightly, pytest.mark.hazard]
ANSWER = 3.0
# For a connection (5 s), for the look whether it lives (3 s), for an answer, and a crowd.
ANSWERED = ANSWER + 5 + 3 + 4
FROZEN = 12.0


@pytest.fixture
def ground(
    django_db_setup: None,
    django_db_blocker: DjangoDbBlocker,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    settings: Any,
) -> Iterator[Ground]:
    settings.GATEPOST_ANSWER_SECONDS = ANSWER
    monkeypatch.setenv("GATEPOST_ANSWER_SECONDS", str(ANSWER))
    with own_ground(django_db_blocker, tmp_path) as made:
        yield made


def every_process(ground: Ground, number: signal.Signals) -> int:
    """Send a signal to the server and all its processes; how many there are."""
    process = ground.postgres.process
    assert process is not None
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    for pid in (process.pid, *map(int, children)):
        os.kill(pid, number)
    return 1 + len(children)


def as_command(ground: Ground) -> dict[str, Any]:
    """The settings of a management command's database."""
    host = str(connection.settings_dict["HOST"])
    return database("", embedded={"HOST": host, "NAME": "gatepost", "USER": "gatepost"}, pool=1)


def one(connection: Any) -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
        return int(cursor.fetchone()[0])


def swept(ground: Ground) -> bool:
    """Whether the worker's sweeper keeps its duty."""
    with ground.session() as session:
        text = "SELECT until > clock_timestamp() FROM gp_duty WHERE name = 'sweep'"
        return session.execute(text).fetchone() == (True,)


def test_no_request_waits_without_bound(ground: Ground) -> None:
    answers: list[tuple[int, float]] = []
    ended = threading.Event()

    def ask(path: str) -> None:
        with ground.http() as http:
            http.timeout = httpx.Timeout(60)
            while not ended.is_set():
                began = time.monotonic()
                status = http.get(path).status_code
                answers.append((status, time.monotonic() - began))

    def start() -> None:
        with ground.http() as http:
            http.timeout = httpx.Timeout(60)
            while not ended.is_set():
                began = time.monotonic()
                answer = ground.start(http, folder=str(ground.folder), script=[])
                answers.append((answer.status_code, time.monotonic() - began))

    own = ConnectionHandler({"default": as_command(ground)})["default"]
    own.inc_thread_sharing()
    given_up: list[float] = []

    def command() -> None:
        began = time.monotonic()
        with pytest.raises(OperationalError, match="no answer from the database within 3 s"):
            one(own)
        given_up.append(time.monotonic() - began)
        own.close()

    assert one(own) == 1
    commanded = threading.Thread(target=command)
    askers = [threading.Thread(target=ask, args=(path,)) for path in ("/api/v1/threads/",) * 3]
    askers.append(threading.Thread(target=start))
    for asker in askers:
        asker.start()
    try:
        wait_until(lambda: len(answers) > 20, seconds=30)
        assert {status for status, _ in answers} <= {200, 201}
        assert every_process(ground, signal.SIGSTOP) > 5
        before = len(answers)
        commanded.start()
        time.sleep(FROZEN)
    finally:
        frozen = list(answers[before:])
        every_process(ground, signal.SIGCONT)
        wait_until(lambda: answers[-1][0] in (200, 201), seconds=30, what=lambda: answers[-5:])
        ended.set()
        for asker in askers:
            asker.join(60)
    assert given_up
    assert given_up[0] < ANSWER + 2
    assert one(own) == 1
    own.close()
    # The sweep uses plain cursors: it gave up as well, and goes on.
    log = ground.worker.log.read_text()
    assert "no answer from the database within 3 s" in log
    assert 503 in {status for status, _ in frozen}
    assert {status for status, _ in answers} <= {200, 201, 503}
    assert max(seconds for _, seconds in answers) < ANSWERED, sorted(answers)[-3:]
    with ground.http() as http:
        assert http.get("/api/v1/threads/").status_code == 200
    wait_until(lambda: swept(ground), seconds=20)
