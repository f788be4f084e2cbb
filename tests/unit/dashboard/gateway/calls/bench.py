"""A Gatepost with its gateway, a real server behind it, a client, and people."""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from itertools import count
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any
from uuid import UUID

import httpx
import pytest
from django.db import connections
from django.test import override_settings

from approvals import queries as requests
from approvals.policies.drafts import Draft
from checkpoints import queries
from checkpoints.views import ActivityRow, ThreadRow
from dashboard.administration.policies import make_policy
from dashboard.gateway.registry.changes import Wanted
from dashboard.identity import tokens
from tests.faults.embedded.helpers import free_port, wait_until
from tests.support import decisions
from tests.support.cast import Cast, make_cast
from tests.support.site import Site, started_site
from tests.unit.dashboard.gateway.servers import accept_mcp_tools, add_mcp_server, list_mcp_tools

PROGRAM = Path(__file__).with_name("upstream.py")
VERSION = "2026-07-28"
META = "io.modelcontextprotocol/"
TASKS = {"extensions": {f"{META}tasks": {}}}
SECRET = "upstream-credential-1234567890"
# Values of `command`: a server over HTTP, and at night one over stdio as well.
SERVERS = [
    pytest.param(False, id="http"),
    pytest.param(True, id="stdio", marks=pytest.mark.nightly),
]


class Upstream:
    """The server over HTTP, as a process of its own."""

    def __init__(self, folder: Path, port: int = 0) -> None:
        self.folder, self.port = folder, port or free_port()
        self.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    def start(self) -> None:
        """Begin, and wait until it answers."""
        self.process = subprocess.Popen(
            [sys.executable, str(PROGRAM), str(self.folder), str(self.port)]
        )
        wait_until(lambda: _listens(self.port), seconds=60, what="the MCP server")

    def stop(self) -> None:
        """End it."""
        self.process.kill()
        self.process.wait()

    def describe(self, text: str) -> None:
        """Come back at the same address with another description of a tool."""
        (self.folder / "description.txt").write_text(text)
        self.stop()
        self.start()

    def clean(self) -> None:
        """Forget what was done and described; start again where it is gone."""
        (self.folder / "outside.txt").unlink(missing_ok=True)
        described = self.folder / "description.txt"
        if described.exists():
            described.unlink()
            self.stop()
        if self.process.poll() is not None:
            self.start()


@cache
def kept_upstream() -> Upstream:
    """One for all tests of this process: a start takes a second of a processor."""
    folder = Path(mkdtemp())
    (folder / "secret.txt").write_text(SECRET)
    server, starter = Upstream(folder), os.getpid()

    def end() -> None:
        if os.getpid() == starter:  # the end of a forked child is not that of the run
            server.stop()
            rmtree(folder)

    atexit.register(end)
    return server


def _listens(port: int) -> bool:
    try:
        httpx.get(f"http://127.0.0.1:{port}/", timeout=2)
    except httpx.TransportError:
        return False
    return True


@dataclass
class Gate:
    """The gateway's address, who may call through it, and what happens behind it."""

    site: Site
    cast: Cast
    folder: Path
    server: UUID
    token: str
    upstream: Upstream
    name: str = "mail"
    numbers: Iterator[int] = field(default_factory=lambda: count(1))

    @property
    def url(self) -> str:
        return f"{self.site.url}/mcp/{self.name}/"

    def send(
        self,
        method: str,
        params: dict[str, Any] | None = None,
        *,
        tasks: bool = False,
        meta: dict[str, Any] | None = None,
        token: str | None = None,
        headers: dict[str, str] | None = None,
    ) -> httpx.Response:
        """One message of a client of 2026-07-28; `tasks`: it declares the extension."""
        envelope = (meta or {}) | {
            f"{META}protocolVersion": VERSION,
            f"{META}clientInfo": {"name": "raw", "version": "1"},
            f"{META}clientCapabilities": TASKS if tasks else {},
        }
        body = {
            "jsonrpc": "2.0",
            "id": next(self.numbers),
            "method": method,
            "params": {**(params or {}), "_meta": envelope},
        }
        return self.post(body, token=token, headers=headers)

    def post(
        self, body: Any, *, token: str | None = None, headers: dict[str, str] | None = None
    ) -> httpx.Response:
        """One message as it is."""
        bearer = {"Authorization": f"Bearer {self.token if token is None else token}"}
        accept = {"Accept": "application/json, text/event-stream"}
        content = {"content": body} if isinstance(body, bytes) else {"json": body}
        return httpx.post(
            self.url, headers=bearer | accept | (headers or {}), timeout=60, **content
        )

    def result(self, method: str, params: dict[str, Any] | None = None, **more: Any) -> Any:
        """The result of a request."""
        response = self.send(method, params, **more)
        answer = last(response)
        assert "result" in answer, answer
        return answer["result"]

    def call(self, tool: str, args: dict[str, Any], **more: Any) -> Any:
        """The result of a tool call."""
        return self.result("tools/call", {"name": tool, "arguments": args}, **more)

    def task(self, ident: str) -> Any:
        """The status of a task."""
        return self.result("tasks/get", {"taskId": ident}, tasks=True)

    def outside(self) -> list[str]:
        """The lines that the server wrote outside, one for each thing it did."""
        path = self.folder / "outside.txt"
        return path.read_text().splitlines() if path.exists() else []

    def policy(self, condition: str = "tool == 'send_mail'", **more: Any) -> None:
        """Ask people about these calls."""
        draft = Draft(f"policy {next(self.numbers)}", condition, **more)
        make_policy(self.cast.actor("admin"), draft)

    def open(self) -> list[Any]:
        """Requests that wait."""
        rows = [requests.for_thread(t.id, open_only=True) for t in self.threads()]
        return [one for row in rows for one in row]

    def decide(self, verdict: str = "approve", **more: Any) -> None:
        """A manager decides the one open request."""
        (one,) = self.open()
        actor = self.cast.actor("manager")
        decisions.decide(actor, one.id, verdict, proposal_hash=one.proposal_hash, **more)

    def threads(self) -> Sequence[ThreadRow]:
        """The threads of the gateway."""
        selection = queries.Selection(agent=f"mcp:{self.name}")
        return queries.threads(selection, workspace=self.cast.workspace, limit=100).rows

    def effects(self) -> list[ActivityRow]:
        """All effects that are recorded, oldest first."""
        rows = [
            activity
            for thread in self.threads()
            for activity in queries.step_activities(thread.id, branch=0, step=1)
        ]
        return sorted(rows, key=lambda row: row.started_at)

    def accept(self) -> None:
        """An admin looks at the tools and accepts them."""
        admin = self.cast.actor("admin")

        def listed() -> None:
            try:
                list_mcp_tools(admin, self.server)
            finally:
                connections.close_all()

        with ThreadPoolExecutor(1) as pool:  # beside the loop of a browser there may be no other
            pool.submit(listed).result()
        accept_mcp_tools(admin, self.server, None)

    def token_of(self, name: str, **more: Any) -> str:
        """A token of somebody, for agents."""
        more = {"scopes": ["work"]} | more
        return tokens.make(self.cast.users[name], made_by="test", **more)[1]


def last(response: httpx.Response) -> Any:
    """The answer in a response, whether it is one message or the last of a stream."""
    messages = stream(response)
    assert messages, (response.status_code, response.text)
    return messages[-1]


def stream(response: httpx.Response) -> list[Any]:
    """All messages of a response."""
    if response.headers.get("content-type", "").startswith("text/event-stream"):
        lines = response.text.splitlines()
        return [json.loads(line[5:]) for line in lines if line.startswith("data:")]
    return [response.json()] if response.content else []


def text_of(result: Any) -> str:
    """The text of a result of a tool."""
    return "".join(part.get("text", "") for part in result["content"])


@contextmanager
def serving(**environment: str) -> Iterator[Site]:
    """Start a web server with a gateway, on the database of now."""
    settings = {
        "GATEPOST_MCP_HOLD_SECONDS": "1",
        "GATEPOST_MCP_COMMANDS": sys.executable,
        "GATEPOST_SECRET_UPSTREAM": SECRET,
        **environment,
    }
    around = "GATEPOST_SECRET_UPSTREAM" in os.environ  # of another server
    os.environ["GATEPOST_SECRET_UPSTREAM"] = SECRET
    try:
        with (
            override_settings(GATEPOST_MCP_COMMANDS=[sys.executable]),
            started_site(slots=0, **settings) as site,
        ):
            try:
                yield site
            finally:
                print(site.log("web")[-6000:])  # shown where the test fails
    finally:
        if not around:
            del os.environ["GATEPOST_SECRET_UPSTREAM"]


@contextmanager
def gate(
    folder: Path,
    *,
    command: bool = False,
    url: str = "",
    program: Path = PROGRAM,
    **environment: str,
) -> Iterator[Gate]:
    """Everything, with the server's tools accepted; `url` for another server than the usual."""
    (folder / "secret.txt").write_text(SECRET)
    with serving(**environment) as site:
        yield gate_of(site, make_cast(), folder, command=command, url=url, program=program)


def gate_of(
    site: Site,
    cast: Cast,
    folder: Path,
    *,
    command: bool = False,
    url: str = "",
    program: Path = PROGRAM,
) -> Gate:
    """Put the MCP server behind the gateway of a web server, in the workspace of a cast."""
    behind = kept_upstream()
    behind.clean()
    wanted = Wanted(url=url or behind.url, credential="GATEPOST_SECRET_UPSTREAM")
    if command:
        wanted = Wanted(
            command=[sys.executable, str(program), str(folder)],
            credential="GATEPOST_SECRET_UPSTREAM",
            credential_to="UPSTREAM_TOKEN",
        )
    row = add_mcp_server(cast.actor("admin"), "mail", wanted)
    token = tokens.make(cast.users["operator"], made_by="test", scopes=["work"])[1]
    made = Gate(site, cast, folder if command else behind.folder, row.id, token, behind)
    made.accept()
    return made
