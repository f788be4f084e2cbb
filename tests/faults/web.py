"""A real web process, and people who are signed in to it."""

from __future__ import annotations

import logging
import os
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
from django.contrib.auth import get_user_model

from checkpoints import store
from dashboard.operate.embedded.process import processes
from tests.faults.embedded.helpers import free_port, responds

from .bench import ROOT, wait_until

logging.getLogger("httpx").setLevel(logging.WARNING)  # a line per request otherwise
PASSWORD = "correct horse battery"


class Web:
    """uvicorn as `up` starts it."""

    def __init__(self, folder: Path, **environment: str) -> None:
        self.log = folder / "web.txt"
        self.address = f"http://127.0.0.1:{(port := free_port())}"
        self.process = processes.start(
            [
                *(sys.executable, "-m", "uvicorn", "dashboard.asgi:application"),
                *("--host", "127.0.0.1", "--port", str(port), "--loop", "uvloop"),
                *(
                    "--lifespan",
                    "on",
                    "--log-level",
                    "warning",
                    "--no-access-log",
                    "--no-proxy-headers",
                ),
            ],
            log=self.log,
            env=os.environ
            | {"GATEPOST_ROLE": "web", "PYTHONPATH": str(ROOT)}
            # Many people sign in from one address here; limits have tests of their own.
            | {"GATEPOST_LOGINS_PER_ADDRESS": "100000", "GATEPOST_LOGINS_PER_ACCOUNT": "100000"}
            | environment,
            cwd=folder,
        )

    def wait_ready(self) -> Web:
        """Return when it answers."""

        def answers() -> bool:
            assert self.process.poll() is None, self.log.read_text()
            return responds(f"{self.address}/healthz")

        wait_until(answers, seconds=30, what=self.log.read_text)
        return self

    def kill(self) -> None:
        processes.signal_group(self.process.pid, 9)
        self.process.wait()


class Person:
    """Somebody with a login of their own; every request carries the token that forms carry."""

    def __init__(self, web: Web, name: str, password: str = PASSWORD) -> None:
        self.name = name
        self.http = httpx.Client(base_url=web.address, timeout=20, verify=False)
        page = self.http.get("/login/")
        (token,) = set(re.findall(r'name="csrfmiddlewaretoken" value="(\w+)"', page.text))
        answer = self.http.post(
            "/login/",
            data={"username": name, "password": password, "csrfmiddlewaretoken": token},
        )
        assert answer.status_code == 302, answer.text
        self.http.headers["X-CSRFToken"] = self.http.cookies["csrftoken"]

    def get(self, path: str) -> httpx.Response:
        return self.http.get(f"/api/v1{path}")

    def post(self, path: str, body: dict[str, Any], **headers: str) -> httpx.Response:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.http.post(f"/api/v1{path}", json=body, headers=named)


@contextmanager
def people(web: Web, workspace: UUID, role: str, *names: str) -> Iterator[list[Person]]:
    """Members of the workspace, signed in by the form; an account that is there is used."""
    results = []
    for name in names:
        users = get_user_model().objects
        user = users.filter(username=name).first() or users.create_user(name, password=PASSWORD)
        store.grant(workspace, user.pk, role, actor="user:0")
        results.append(Person(web, name))
    try:
        yield results
    finally:
        for person in results:
            person.http.close()


@dataclass(frozen=True, slots=True)
class Round:
    """What two people were answered who asked at the same moment; whether they truly met."""

    answers: tuple[httpx.Response, httpx.Response]
    met: bool

    @property
    def codes(self) -> tuple[int, int]:
        return self.answers[0].status_code, self.answers[1].status_code

    @property
    def winner(self) -> int:
        return self.codes.index(200)


def race(pool: ThreadPoolExecutor, *requests: Callable[[], httpx.Response]) -> Round:
    """Let two requests start together."""
    start = threading.Barrier(2)

    def one(request: Callable[[], httpx.Response]) -> tuple[httpx.Response, float, float]:
        start.wait(10)
        began = time.monotonic()
        answer = request()
        return answer, began, time.monotonic()

    first, second = pool.map(one, requests)
    met = first[1] < second[2] and second[1] < first[2]
    return Round((first[0], second[0]), met)
