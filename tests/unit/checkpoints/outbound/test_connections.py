"""Connections that the settings name: to what was judged, once, and nowhere else."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import httpcore2
import httpx2
import pytest

from checkpoints.outbound import addresses, connections
from tests.unit.approvals import post

pytestmark = pytest.mark.requirement("F07")
type Ask = Callable[[str], httpx2.Response]


class _Answers(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        server: Any = self.server
        server.got.append((self.path, self.headers["host"]))
        if "/broken" in self.path:
            self.close_connection = True
            return
        self.send_response(307 if server.leads_to else 200)
        if server.leads_to:
            self.send_header("location", server.leads_to)
        self.send_header("content-length", "4")
        self.end_headers()
        self.wfile.write(b"fine"[: 2 if "/cut" in self.path else 4])
        self.close_connection = "/cut" in self.path

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[Any]:
    made: Any = ThreadingHTTPServer(("127.0.0.1", 0), _Answers)
    made.got, made.leads_to = [], ""
    threading.Thread(target=made.serve_forever, args=(0.02,), daemon=True).start()
    yield made
    made.shutdown()
    made.server_close()


def _at_once(url: str) -> httpx2.Response:
    with connections.client(url, timeout=5) as client:
        return client.get(url)


def _in_a_loop(url: str) -> httpx2.Response:
    async def run() -> httpx2.Response:
        transport = connections.AsyncCheckedTransport(
            connections.judge_of_settings(url, "server"), proxy=connections.proxy_of(url)
        )
        async with httpx2.AsyncClient(transport=transport, timeout=5) as client:
            return await client.get(url)

    return asyncio.run(run())


@pytest.fixture(params=[_at_once, _in_a_loop], ids=["sync", "async"])
def ask(request: pytest.FixtureRequest) -> Ask:
    result: Ask = request.param
    return result


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "inside.example"])
def test_what_the_settings_name_may_be_inside(
    server: Any, ask: Ask, monkeypatch: pytest.MonkeyPatch, host: str
) -> None:
    post.resolver(monkeypatch, {"inside.example": ["127.0.0.1"]})
    assert ask(f"http://{host}:{server.server_port}/a").text == "fine"
    assert server.got == [("/a", f"{host}:{server.server_port}")]


def test_a_name_is_resolved_once_and_called_where_it_was_judged(
    server: Any, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    names, later = {"moves.example": ["127.0.0.1"]}, {"moves.example": ["169.254.169.254"]}
    looks = post.resolver(monkeypatch, names, later=later)
    assert ask(f"http://moves.example:{server.server_port}/").text == "fine"
    assert len(looks) == 1


@pytest.mark.parametrize(
    "leads_to",
    [
        ["169.254.169.254"],
        ["100.100.100.200"],
        ["fd00:ec2::254"],
        ["fe80::1"],
        ["127.0.0.1", "169.254.169.254"],
        ["0.0.0.0"],
        ["::"],
        [],
    ],
)
def test_a_name_that_leads_elsewhere_is_not_called(
    server: Any, ask: Ask, monkeypatch: pytest.MonkeyPatch, leads_to: list[str]
) -> None:
    post.resolver(monkeypatch, {"moved.example": leads_to})
    with pytest.raises(httpx2.ConnectError, match=r"of the public internet|cannot be resolved"):
        ask(f"http://moved.example:{server.server_port}/")
    assert server.got == []


def test_the_next_address_is_tried_where_one_does_not_answer(
    server: Any, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    post.resolver(monkeypatch, {"both.example": ["127.0.0.2", "127.0.0.1"]})
    assert ask(f"http://both.example:{server.server_port}/").text == "fine"
    silent = [f"127.0.1.{n}" for n in range(addresses.ADDRESSES_MAX)]
    post.resolver(monkeypatch, {"many.example": [*silent, "127.0.0.1"]})
    with pytest.raises(httpx2.ConnectError):
        ask(f"http://many.example:{server.server_port}/")


def test_a_redirect_is_not_followed(server: Any, ask: Ask) -> None:
    at = f"http://127.0.0.1:{server.server_port}"
    server.leads_to = f"{at}/other"
    assert ask(f"{at}/a").status_code == 307
    assert [path for path, _ in server.got] == ["/a"]


@pytest.mark.parametrize("path", ["/broken", "/cut"])
def test_an_answer_that_breaks_off_is_an_error_of_the_client(
    server: Any, ask: Ask, path: str
) -> None:
    with pytest.raises(httpx2.RemoteProtocolError):
        ask(f"http://127.0.0.1:{server.server_port}{path}")


def test_a_proxy_of_the_environment_is_judged_in_place_of_the_server(
    server: Any, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = {"proxy.example": ["127.0.0.1"], "wire.example": ["169.254.169.254"]}
    post.resolver(monkeypatch, names)
    monkeypatch.setenv("http_proxy", f"proxy.example:{server.server_port}")
    monkeypatch.setenv("no_proxy", "near.example")
    assert ask("http://far.example/a").text == "fine"
    assert server.got == [("http://far.example/a", "far.example")]
    assert connections.proxy_of("http://near.example/") == ""
    assert connections.proxy_of("http://127.0.0.1:1/") == ""
    assert connections.proxy_of("https://far.example/") == ""
    monkeypatch.setenv("http_proxy", f"http://wire.example:{server.server_port}")
    with pytest.raises(httpx2.ConnectError, match="of the public internet"):
        ask("http://far.example/a")


def test_each_error_of_the_pool_has_its_own_of_the_client() -> None:
    pool = {
        kind
        for kind in vars(httpcore2).values()
        if isinstance(kind, type)
        and issubclass(kind, Exception)
        and kind is not httpcore2.ConnectionNotAvailable
    }
    assert pool == set(connections._ERRORS)


@pytest.mark.parametrize("address", sorted(map(str, addresses.METADATA)))
def test_a_listed_network_includes_no_metadata_server(address: str) -> None:
    wide = ["0.0.0.0/0", "::/0"]
    assert not addresses.is_listed(ip_address(address), wide)
    assert not addresses.permitted(ip_address(address), wide)
    assert addresses.permitted(ip_address(address), [address])


def test_authorities_are_read_once(
    server: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    read: list[str] = []
    made = httpx2.create_ssl_context()

    def counted(**_: Any) -> Any:
        read.append(os.environ.get("SSL_CERT_FILE", ""))
        return made

    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    monkeypatch.setattr(httpx2, "create_ssl_context", counted)
    connections._authorities.cache_clear()
    url = f"http://127.0.0.1:{server.server_port}/"
    for _ in range(3):
        assert _at_once(url).text == "fine"
    assert read == [""]
    bundle = tmp_path / "authorities.pem"
    monkeypatch.setenv("SSL_CERT_FILE", str(bundle))
    assert _at_once(url).text == "fine"
    assert read == ["", str(bundle)]
    connections._authorities.cache_clear()
