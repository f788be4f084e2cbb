"""A Gatepost for clients, people who decide in it, and scripts that are killed."""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, TypeVar

import httpx

from tests.faults.bench import wait_until

logging.getLogger("httpx").setLevel(logging.WARNING)  # a line per request otherwise
T = TypeVar("T")
ROOT = Path(__file__).resolve().parents[3]
SOURCES = ROOT / "clients/python/src"
EXAMPLES = ROOT / "clients/examples"
SCRIPTS = Path(__file__).with_name("scripts")
LEASE_SECONDS = 5  # the shortest there is


class Person:
    """Somebody with a token."""

    def __init__(self, url: str, token: str) -> None:
        self.token = token
        self.http = httpx.Client(
            base_url=f"{url}/api/v1", headers={"Authorization": f"Bearer {token}"}, timeout=20
        )

    def get(self, path: str) -> Any:
        """The answer of a GET."""
        response = self.http.get(path)
        assert response.status_code == 200, response.text
        return response.json()

    def post(self, path: str, body: Any) -> Any:
        """The answer of a POST."""
        response = self.http.post(path, json=body)
        assert response.status_code < 300, f"{path}: {response.text}"
        return response.json()


@dataclass
class Server:
    """Where Gatepost answers, the token of agents, and people."""

    url: str
    token: str
    operator: Person
    manager: Person
    web_log: Callable[[], str] = str
    cookie: dict[str, str] = field(default_factory=dict)  # of the manager's browser
    scripts: list[Script] = field(default_factory=list)

    def logs(self) -> str:
        """What the server and the scripts of the test have printed."""
        lines = [line for line in self.web_log().splitlines() if " request   " not in line]
        texts = [f"--- {one.command[1:]}\n{one.text()}" for one in self.scripts]
        return "\n".join([*lines[-60:], *texts])

    def wait(self, answer: Callable[[], T]) -> T:
        """The answer, as soon as it is true; fails at once when a script has failed."""

        def ask() -> T:
            for one in self.scripts:
                code = None if one.process is None or one.is_over else one.process.poll()
                assert code in (None, 0, 75, -signal.SIGKILL), self.logs()
            time.sleep(0.05)
            return answer()

        return wait_until(ask, seconds=20, what=self.logs)

    def wait_thread(self, agent: str, name: str) -> str:
        """The id of the thread of that name, as soon as there is one."""

        def read() -> list[str]:
            rows = self.operator.get(f"/threads/?agent={agent}&limit=100")["results"]
            return [row["id"] for row in rows if row["name"] == name]

        self.wait(read)
        (thread,) = read()
        return thread

    def thread(self, agent: str, name: str) -> dict[str, Any]:
        """The thread of that name."""
        return dict(self.operator.get(f"/threads/{self.wait_thread(agent, name)}/"))

    def state(self, thread: str) -> dict[str, Any]:
        """The state at a thread's head."""
        return dict(self.operator.get(f"/threads/{thread}/state/")["state"])

    def requests(self, thread: str) -> list[dict[str, Any]]:
        """The open requests of a thread."""
        rows = self.manager.get("/approvals/?status=pending")["results"]
        return [row for row in rows if row["thread"] == thread]

    def wait_request(self, thread: str) -> dict[str, Any]:
        """The one open request of a thread, as soon as there is one."""
        self.wait(lambda: self.requests(thread))
        (row,) = self.requests(thread)
        return row

    def decide(self, thread: str, verdict: str = "approve", **more: Any) -> dict[str, Any]:
        """Decide the one open request of a thread; gives it as it was."""
        row = self.wait_request(thread)
        body = {"verdict": verdict, "proposal_hash": row["proposal_hash"], **more}
        self.manager.post(f"/approvals/{row['id']}/decide/", body)
        return row

    def verify(self, thread: str) -> dict[str, Any]:
        """What the server finds when it computes a thread's past again."""
        return dict(self.operator.post(f"/threads/{thread}/verify/", {}))

    def wait_status(self, thread: str, *statuses: str) -> dict[str, Any]:
        """The thread, as soon as it has one of these statuses."""

        def read() -> dict[str, Any]:
            return dict(self.operator.get(f"/threads/{thread}/"))

        wait_until(
            lambda: read()["status"] in statuses, seconds=20, what=lambda: f"{read()}{self.logs()}"
        )
        return read()


@dataclass
class Script:
    """A process of a client, in a folder of its own: another machine shares nothing with it."""

    server: Server
    command: Sequence[str]
    folder: Path
    environment: dict[str, str] = field(default_factory=dict)
    process: subprocess.Popen[bytes] | None = None
    is_over: bool = False

    def start(self) -> Script:
        """Start the process."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with self.log.open("a") as printed:
            self.process = self._start(printed)
        return self

    def _start(self, printed: IO[str]) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            self.command,
            cwd=self.folder,
            env={
                "PATH": os.environ["PATH"],
                "PYTHONPATH": str(SOURCES),
                "PYTHONDONTWRITEBYTECODE": "1",
                "GATEPOST_URL": self.server.url,
                "GATEPOST_TOKEN": self.server.token,
                "GATEPOST_LEASE_SECONDS": str(LEASE_SECONDS),
                **self.environment,
            },
            stdout=printed,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    @property
    def log(self) -> Path:
        """Where it prints to."""
        return self.folder / "printed.txt"

    def text(self) -> str:
        """What it has printed."""
        return self.log.read_text()

    def signal(self, number: int) -> None:
        """Send a signal to it and all that it started."""
        assert self.process is not None
        os.killpg(self.process.pid, number)

    def kill(self) -> None:
        """kill -9, with all that it started."""
        assert self.process is not None
        assert self.process.poll() is None, self.server.logs()
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def end(self, code: int = 0, seconds: float = 40) -> str:
        """What it printed, when it ended with this code."""
        assert self.process is not None
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"it did not end: {self.server.logs()}") from None
        assert self.process.returncode == code, self.server.logs()
        self.is_over = True
        return self.text()

    def close(self) -> None:
        """End it, whatever it does."""
        if self.process is not None and self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


def python(path: Path, *args: str) -> list[str]:
    """The command that calls a script with the Python of the tests."""
    return [sys.executable, str(path), *args]


def wait_file(path: Path, seconds: float = 20) -> None:
    """Return when a file is there."""
    wait_until(path.exists, seconds=seconds, what=f"{path}")


def lines(path: Path) -> list[str]:
    """The lines of a file, none where it is missing."""
    return path.read_text().splitlines() if path.exists() else []


def payload(text: str) -> Any:
    """The JSON in the last line of what a script printed."""
    return json.loads(text.strip().splitlines()[-1])


def pause(seconds: float) -> None:
    """Let time pass that no status shows: a lease that nobody renews."""
    time.sleep(seconds)
