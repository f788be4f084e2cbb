"""PostgreSQL stands still as a whole: each request is answered in time, then all goes on."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from pytest_django import DjangoDbBlocker

from .bench import wait_until
from .own_servers import Ground, own_ground

pytestmark = pytest.mark.hazard
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
) -> Iterator[Ground]:
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


def test_no_request_waits_without_bound(ground: Ground) -> None:
    answers: list[tuple[int, float]] = []
    over = threading.Event()

    def ask(path: str) -> None:
        with ground.http() as http:
            http.timeout = httpx.Timeout(60)
            while not over.is_set():
                began = time.monotonic()
                status = http.get(path).status_code
                answers.append((status, time.monotonic() - began))

    def start() -> None:
        with ground.http() as http:
            http.timeout = httpx.Timeout(60)
            while not over.is_set():
                began = time.monotonic()
                answer = ground.start(http, folder=str(ground.folder), script=[])
                answers.append((answer.status_code, time.monotonic() - began))

    askers = [threading.Thread(target=ask, args=(path,)) for path in ("/api/v1/threads/",) * 3]
    askers.append(threading.Thread(target=start))
    for asker in askers:
        asker.start()
    try:
        wait_until(lambda: len(answers) > 20, seconds=30)
        assert {status for status, _ in answers} <= {200, 201}
        assert every_process(ground, signal.SIGSTOP) > 5
        before = len(answers)
        time.sleep(FROZEN)
    finally:
        frozen = list(answers[before:])
        every_process(ground, signal.SIGCONT)
        wait_until(lambda: answers[-1][0] in (200, 201), seconds=30, what=lambda: answers[-5:])
        over.set()
        for asker in askers:
            asker.join(60)
    assert 503 in {status for status, _ in frozen}
    assert {status for status, _ in answers} <= {200, 201, 503}
    assert max(seconds for _, seconds in answers) < ANSWERED, sorted(answers)[-3:]
    with ground.http() as http:
        assert http.get("/api/v1/threads/").status_code == 200
