"""Every entry that names a credential, with every name that is not the workspace's: none leaves."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from django.db import connection

from checkpoints.outbound.own_secrets import OWN_SECRETS
from dashboard.errors import ActionError, Conflict, Invalid
from dashboard.gateway.registry import queries
from dashboard.gateway.registry.changes import Wanted
from dashboard.gateway.upstream.commands import CommandServers
from dashboard.gateway.upstream.streamable_http import HttpServers, NotSent, Sending
from dashboard.operate.doctor import mcp_servers
from dashboard.operate.doctor.findings import Seen
from tests.support.cast import Cast
from tests.unit.dashboard.carried import run
from tests.unit.dashboard.gateway.servers import add_mcp_server, change_mcp_server, list_mcp_tools

pytestmark = [pytest.mark.django_db, pytest.mark.requirement("F07")]
VALUE = "value-of-a-secret-0123456789"
NAMES = (
    *OWN_SECRETS,
    *(f"{name}_FILE" for name in OWN_SECRETS),
    "GATEPOST_SECRET_NAMES",
    "GATEPOST_SECRET_VALUES",
    "GATEPOST_SECRET_ELSEWHERE",  # listed, of another workspace
    "GATEPOST_SECRET_BOUND",  # listed, for another place
    "GATEPOST_SECRET_UNLISTED",
    "OPENAI_API_KEY",
    "PATH",
)


class _Listens(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        server: Any = self.server
        raw = self.rfile.read(int(self.headers["content-length"]))
        server.seen.append(str(self.headers) + raw.decode())
        answer = {"jsonrpc": "2.0", "id": json.loads(raw).get("id"), "result": {"tools": []}}
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_DELETE = do_POST

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def listener() -> Iterator[Any]:
    server: Any = ThreadingHTTPServer(("127.0.0.1", 0), _Listens)
    server.seen = []
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture(autouse=True)
def listed(settings: Any, monkeypatch: pytest.MonkeyPatch, listener: Any) -> str:
    """The listener's address; one good secret, and each of NAMES in the environment."""
    url = f"http://127.0.0.1:{listener.server_port}"
    settings.GATEPOST_MCP_COMMANDS = [sys.executable]
    settings.GATEPOST_WORKSPACE_SECRETS = {
        "default": {
            "GATEPOST_SECRET_GOOD": frozenset({url}),
            "GATEPOST_SECRET_BOUND": frozenset({"https://a.example:443"}),
        },
        "elsewhere": {"GATEPOST_SECRET_ELSEWHERE": frozenset({url})},
    }
    for name in {*NAMES, "GATEPOST_SECRET_GOOD"} - {"PATH"}:
        if name not in os.environ:
            monkeypatch.setenv(name, VALUE if not name.endswith("_FILE") else __file__)
    return url


def entries(cast: Cast, url: str, name: str) -> dict[str, Callable[[], Any]]:
    """Each way to save a server with this credential."""
    admin = cast.actor("admin")
    bare = add_mcp_server(admin, "bare", Wanted(url=f"{url}/mcp"))
    browser = cast.client("admin")
    form = {"name": "f", "url": f"{url}/mcp", "credential": name}
    body = {"name": "api", "url": f"{url}/mcp", "credential": name}

    def api(path: str, sent: dict[str, Any]) -> None:
        answer = browser.post(f"/api/v1/mcp-servers/{path}", sent, "application/json")
        assert answer.status_code == 422, answer.content
        raise Invalid("credential", "refused")

    def page(path: str) -> None:
        answer = browser.post(f"/admin/mcp-servers/{path}", form)
        assert answer.status_code == 422, answer.status_code
        raise Invalid("credential", "refused")

    def command(*words: str) -> None:
        code, _, errors = run("mcp", *words, "--credential", name, "--as", "admin")
        assert code != 0, errors
        raise Invalid("credential", "refused")

    program = Wanted(command=[sys.executable], credential=name, credential_to="TOKEN")
    return {
        "add": lambda: add_mcp_server(admin, "n", Wanted(url=url, credential=name)),
        "add a program": lambda: add_mcp_server(admin, "n", program),
        "change": lambda: change_mcp_server(admin, bare.id, Wanted(credential=name)),
        "API, add": lambda: api("", body),
        "API, change": lambda: api(f"{bare.id}/change/", {"credential": name}),
        "page, add": lambda: page("add/"),
        "page, change": lambda: page(f"{bare.id}/change/"),
        "command, add": lambda: command("add", "c", "--url", url),
        "command, change": lambda: command("change", "bare"),
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_no_entry_takes_it_and_no_call_carries_it(
    cast: Cast, listener: Any, listed: str, name: str
) -> None:
    for entry, save in entries(cast, listed, name).items():
        with pytest.raises(ActionError):
            save()
        assert not [r for r in queries.servers(cast.workspace) if r.credential], entry
    bare = queries.server_named("bare", workspace=cast.workspace)
    with connection.cursor() as cursor:  # as an older version took it
        cursor.execute(
            "UPDATE gp_mcp_server SET credential = %s WHERE id = %s", [name[:100], bare.id]
        )
    with pytest.raises(Conflict, match="is not called: its credential"):
        list_mcp_tools(cast.actor("admin"), bare.id)
    row = queries.server(bare.id, workspace=cast.workspace)
    asyncio.run(_sends(row))
    assert listener.seen == []
    assert mcp_servers.called(Seen()).__next__().level == "wrong"
    # It can be put right, and switched off.
    change_mcp_server(cast.actor("admin"), bare.id, Wanted(active=False))
    good = Wanted(credential="GATEPOST_SECRET_GOOD", active=True)
    change_mcp_server(cast.actor("admin"), bare.id, good)
    list_mcp_tools(cast.actor("admin"), bare.id)
    assert VALUE in listener.seen[0]


async def _sends(row: Any) -> None:
    """The ways of the gateway, below its own look at the row."""
    sending = Sending({"jsonrpc": "2.0", "id": "1", "method": "tools/list"}, secret=VALUE)
    http, programs = HttpServers(), CommandServers()
    with pytest.raises(NotSent):
        async with http.send(row, sending):
            pass
    with pytest.raises(NotSent):
        await http.close_at(row, sending)
    with pytest.raises(NotSent):
        async with programs.send(row, "owner", sending):
            pass
    await http.close()


def test_a_server_does_not_move_with_its_credential(cast: Cast, listed: str) -> None:
    """Another address, or a program, is another place."""
    admin = cast.actor("admin")
    wanted = Wanted(url=f"{listed}/mcp", credential="GATEPOST_SECRET_GOOD")
    row = add_mcp_server(admin, "good", wanted)
    for other in (
        Wanted(url="https://evil.example/mcp"),
        Wanted(url="http://127.0.0.1:1/mcp"),
        Wanted(url="", command=[sys.executable], credential_to="TOKEN"),
    ):
        with pytest.raises(Invalid, match="may not go to"):
            change_mcp_server(admin, row.id, other)
    changed = Wanted(url="https://a.example/mcp", credential="GATEPOST_SECRET_BOUND")
    assert change_mcp_server(admin, row.id, changed).credential == "GATEPOST_SECRET_BOUND"


def test_the_form_names_the_secrets_of_the_workspace(cast: Cast) -> None:
    text = cast.client("admin").get("/admin/mcp-servers/add/").text
    assert "GATEPOST_SECRET_BOUND, GATEPOST_SECRET_GOOD" in text
    assert "GATEPOST_SECRET_ELSEWHERE" not in text
