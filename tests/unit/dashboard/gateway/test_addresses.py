"""MCP servers at addresses inside: refused when saved; those saved before are never called."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import StringIO
from typing import Any
from uuid import UUID

import pytest
from django.core.management import call_command
from django.db import connection

from dashboard.errors import Conflict, Invalid
from dashboard.gateway.registry.changes import Wanted
from dashboard.identity import tokens
from dashboard.operate.doctor import mcp_servers
from dashboard.operate.doctor.findings import Seen
from tests.support.cast import Cast
from tests.unit.approvals import post
from tests.unit.approvals.notify.test_notify_webhooks import REFUSED
from tests.unit.dashboard.gateway.servers import add_mcp_server, list_mcp_tools

pytestmark = pytest.mark.django_db
# Each leads to this machine in some resolver or library.
SPELLINGS = (
    *("127.0.0.1", "127.1", "2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1", "017700000001"),
    *(
        "127.0.0.1.",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[::127.0.0.1]",
        "0",
        "0.0.0.0",
    ),
    *("localhost", "LOCALHOST", "localhost.", "a.localhost", "127.0.0.1%2f", "%31%32%37.0.0.1"),
    *("１２７.０.０.１", "ⓛocalhost", "127。0。0。1", "[fe80::1%25lo]", "a.example\\.b"),
)
BRACKETED = [f"[{one}]" if ":" in one else one for one in REFUSED.split()]


class _Counting(ThreadingHTTPServer):
    """Counts connections; answers as a server that lists no tools, or leads elsewhere."""

    daemon_threads, connections, leads_to = True, 0, ""

    def get_request(self) -> Any:
        self.connections += 1
        return super().get_request()


class _Answers(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        server: Any = self.server
        raw = self.rfile.read(int(self.headers["content-length"]))
        answer = {"jsonrpc": "2.0", "id": json.loads(raw).get("id"), "result": {"tools": []}}
        body = json.dumps(answer).encode()
        self.send_response(307 if server.leads_to else 200)
        if server.leads_to:
            self.send_header("location", server.leads_to)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def inside() -> Iterator[_Counting]:
    """A server of this machine that nobody has listed."""
    server = _Counting(("127.0.0.1", 0), _Answers)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def strict(settings: Any) -> None:
    settings.GATEPOST_MCP_NETWORKS = []


def saved_before(cast: Cast, url: str) -> UUID:
    """A server with an address that no entry point takes today."""
    row = add_mcp_server(cast.actor("admin"), "old", Wanted(url="https://a.example/mcp"))
    with connection.cursor() as cursor:
        cursor.execute("UPDATE gp_mcp_server SET url = %s WHERE id = %s", (url, row.id))
    return row.id


@pytest.mark.requirement("F07")
@pytest.mark.parametrize("host", [*SPELLINGS, *BRACKETED])
def test_an_address_inside_is_refused_and_never_called(
    cast: Cast, strict: None, inside: _Counting, host: str
) -> None:
    admin = cast.actor("admin")
    for scheme in ("https", "http"):
        url = f"{scheme}://{host}:{inside.server_port}/mcp"
        with pytest.raises(Invalid):
            add_mcp_server(admin, "new", Wanted(url=url))
    ident = saved_before(cast, f"http://{host}:{inside.server_port}/mcp")
    with pytest.raises(Conflict):
        list_mcp_tools(admin, ident)
    assert inside.connections == 0


@pytest.mark.requirement("F07")
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_name_that_leads_inside_is_not_called(
    cast: Cast, settings: Any, inside: _Counting, monkeypatch: Any, scheme: str
) -> None:
    """Also where another network is listed, so that plain HTTP is taken when it is saved."""
    settings.GATEPOST_MCP_NETWORKS = ["10.0.0.0/8"]
    both = ["1.1.1.1", "127.0.0.1"]
    post.resolver(monkeypatch, {"in.example": ["127.0.0.1"], "both.example": both})
    for number, name in enumerate(("in.example", "both.example")):
        wanted = Wanted(url=f"{scheme}://{name}:{inside.server_port}/mcp")
        row = add_mcp_server(cast.actor("admin"), f"n{number}", wanted)
        with pytest.raises(Conflict, match=r"not of the public internet|without encryption"):
            list_mcp_tools(cast.actor("admin"), row.id)
    assert inside.connections == 0


@pytest.mark.requirement("F07")
def test_a_public_name_is_not_called_without_encryption(
    cast: Cast, inside: _Counting, monkeypatch: Any
) -> None:
    post.resolver(monkeypatch, {"out.example": ["93.184.216.34"]})
    row = add_mcp_server(cast.actor("admin"), "out", Wanted(url="http://out.example/mcp"))
    with pytest.raises(Conflict, match="not called without encryption"):
        list_mcp_tools(cast.actor("admin"), row.id)


@pytest.mark.requirement("F07")
def test_a_name_is_resolved_once_and_called_where_it_was_judged(
    cast: Cast, inside: _Counting, monkeypatch: Any
) -> None:
    """The second look would lead nowhere: the connection takes the first one's address."""
    names, later = {"moves.example": ["127.0.0.1"]}, {"moves.example": ["192.0.2.1"]}
    looks = post.resolver(monkeypatch, names, later=later)
    url = f"http://moves.example:{inside.server_port}/mcp"
    row = add_mcp_server(cast.actor("admin"), "moves", Wanted(url=url))
    assert list_mcp_tools(cast.actor("admin"), row.id) == []
    assert (len(looks), inside.connections) == (1, 1)


@pytest.mark.requirement("F07")
def test_a_redirect_leads_nowhere(cast: Cast, inside: _Counting) -> None:
    other = _Counting(("127.0.0.1", 0), _Answers)
    threading.Thread(target=other.serve_forever, args=(0.02,), daemon=True).start()
    inside.leads_to = f"http://127.0.0.1:{other.server_port}/mcp"
    url = f"http://127.0.0.1:{inside.server_port}/mcp"
    row = add_mcp_server(cast.actor("admin"), "leads", Wanted(url=url))
    with suppress(Conflict):
        list_mcp_tools(cast.actor("admin"), row.id)
    assert inside.connections >= 1
    assert other.connections == 0
    other.shutdown()
    other.server_close()


@pytest.mark.requirement("F07")
def test_what_was_saved_before_is_named_on_its_page_and_by_doctor(
    cast: Cast, strict: None, client: Any
) -> None:
    ident = saved_before(cast, "http://127.0.0.1:1/mcp")
    client.force_login(cast.users["admin"])
    for page in ("/admin/mcp-servers/", f"/admin/mcp-servers/{ident}/"):
        assert "old is not called: its address" in client.get(page).text, page
    token = tokens.make(cast.users["admin"], made_by="user:0")[1]
    headers = {"Authorization": f"Bearer {token}"}
    for address in ("/api/v1/mcp-servers/", f"/api/v1/mcp-servers/{ident}/"):
        shown = client.get(address, headers=headers).json()
        (row,) = shown.get("results", [shown])
        assert row["refusal"].startswith("old is not called: its address"), address
    listed = StringIO()
    call_command("mcp", "list", "--as", "admin", stdout=listed)
    assert "old is not called" in " ".join(listed.getvalue().split())
    (finding,) = mcp_servers.called(Seen())
    assert (finding.level, "127.0.0.1" in finding.value) == ("wrong", True)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE gp_mcp_server SET url = 'https://a.example/' WHERE id = %s", [ident])
    (finding,) = mcp_servers.called(Seen())
    assert finding.level == "ok"
