"""What runs in a network of its own reaches the ports that are opened in it, and no other."""

from __future__ import annotations

import errno
import os
import socket
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

from dashboard.operate.embedded.process import processes

from .network import Network, NoNetworks
from .proxy import Proxy

pytestmark = pytest.mark.hazard


@pytest.fixture
def network() -> Iterator[Network]:
    try:
        made = Network()
    except NoNetworks as error:
        pytest.skip(f"NOT PROVED: {error}")
    yield made
    made.close()


@pytest.fixture
def server() -> Iterator[int]:
    """The port of a server in the network of this process."""

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            return

        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"reached")

    made = HTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=made.serve_forever, daemon=True)
    thread.start()
    yield made.server_address[1]
    made.shutdown()
    made.server_close()
    thread.join()


ASKS = """
import sys, urllib.request
print(urllib.request.urlopen(f"http://127.0.0.1:{sys.argv[1]}/", timeout=30).read().decode())
"""


def response(network: Network, port: int, log: Path) -> str:
    """What a process in a network says that asks a port of its own loopback."""
    with network.entered():
        process = processes.start([sys.executable, "-S", "-c", ASKS, str(port)], log=log)
    process.wait(60)
    return log.read_text()


def test_only_an_opened_port_is_reached(network: Network, server: int, tmp_path: Path) -> None:
    assert "Connection refused" in response(network, server, tmp_path / "before")
    proxy = Proxy(server, server, listens=network)
    try:
        assert response(network, server, tmp_path / "after") == "reached\n"
        with network.entered():
            assert [name for _, name in socket.if_nameindex()] == ["lo"]
    finally:
        proxy.close()
    assert os.readlink("/proc/thread-self/ns/net") == os.readlink("/proc/self/ns/net")


def test_a_server_in_the_network_is_reached_from_outside(network: Network) -> None:
    with network.entered():
        inside = socket.create_server(("127.0.0.1", 0))
    proxy = Proxy(inside.getsockname()[1], connects=network)
    try:
        with socket.create_connection(("127.0.0.1", proxy.port), timeout=30) as client:
            end, _ = inside.accept()
            with end:
                end.sendall(b"from inside")
            assert client.recv(64) == b"from inside"
    finally:
        proxy.close()
        inside.close()


def test_who_may_make_none_is_told_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_flags: int) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "unshare", refuse)
    before = os.readlink("/proc/thread-self/ns/net")
    with pytest.raises(NoNetworks, match="need root"):
        Network()
    assert os.readlink("/proc/thread-self/ns/net") == before
