"""Calls to the provider of single sign-on: bounded by its issuer, whatever its document names."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from requests import RequestException

from dashboard.people.sso.provider_calls import ProviderCalls
from tests.unit.approvals import post


class _Counts(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        server: Any = self.server
        server.hosts.append(self.headers["host"])
        server.auth.append(self.headers["authorization"])
        server.bodies.append(self.rfile.read(int(self.headers.get("content-length", 0))))
        self.send_response(307 if server.leads_to else 200)
        if server.leads_to:
            self.send_header("location", server.leads_to)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def provider() -> Iterator[Any]:
    server: Any = ThreadingHTTPServer(("127.0.0.1", 0), _Counts)
    server.bodies, server.leads_to, server.hosts, server.auth = [], "", [], []
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def _session(settings: Any, issuer: str) -> Any:
    settings.GATEPOST_OIDC = SimpleNamespace(issuer=issuer)
    return ProviderCalls()


@pytest.mark.requirement("F07")
@pytest.mark.parametrize(
    "address",
    [
        "http://127.0.0.1:{port}/token",
        "https://127.0.0.1:{port}/token",
        "https://2130706433:{port}/token",
        "https://localhost:{port}/token",
        "https://inside.example:{port}/token",
        "http://issuer.example:{port}/token",  # the provider's own, without encryption
        "https://user:word@issuer.example:{port}/token",
        "file:///etc/passwd",
    ],
)
def test_a_document_leads_no_secret_inside(
    provider: Any, settings: Any, monkeypatch: Any, address: str
) -> None:
    names = {"inside.example": ["127.0.0.1"], "issuer.example": ["127.0.0.1"]}
    post.resolver(monkeypatch, names)
    session = _session(settings, "https://issuer.example/realm")
    with pytest.raises(RequestException):
        session.request("POST", address.format(port=provider.server_port), data={"secret": "x"})
    assert provider.bodies == []


@pytest.mark.requirement("F07")
def test_a_redirect_of_the_provider_is_not_followed(provider: Any, settings: Any) -> None:
    other: Any = ThreadingHTTPServer(("127.0.0.1", 0), _Counts)
    other.bodies, other.leads_to, other.hosts, other.auth = [], "", [], []
    threading.Thread(target=other.serve_forever, args=(0.02,), daemon=True).start()
    at = f"http://127.0.0.1:{provider.server_port}"
    provider.leads_to = f"http://127.0.0.1:{other.server_port}/"
    answer = _session(settings, at).post(f"{at}/token", data={"secret": "x"})
    assert (answer.status_code, len(provider.bodies), other.bodies) == (307, 1, [])
    other.shutdown()
    other.server_close()


@pytest.mark.requirement("F07")
@pytest.mark.parametrize("name", ["issuer.example", "token.example"])
def test_a_call_goes_to_the_address_that_was_judged(
    provider: Any, settings: Any, monkeypatch: Any, name: str
) -> None:
    """The second look would lead elsewhere; the address of the document's name is a public one."""
    first = "127.0.0.1" if name == "issuer.example" else "93.184.216.34"
    looks, dialled = list[str](), list[Any]()
    real = socket.socket.connect

    def resolve(host: Any, port: Any, *_: Any, **__: Any) -> Any:
        if host != name:
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (host, port))]
        looks.append(host)
        address = first if len(looks) == 1 else "127.0.0.2"
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

    def connect(self: socket.socket, address: Any) -> None:
        dialled.append(address)
        real(self, ("127.0.0.1", address[1]))

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    monkeypatch.setattr(socket.socket, "connect", connect)
    at = f"{name}:{provider.server_port}"
    session = _session(settings, "http://issuer.example/realm")
    assert session.post(f"http://{at}/token", data={"secret": "x"}).status_code == 200
    assert looks == [name]
    assert dialled == [(first, provider.server_port)]
    assert provider.hosts == [at]


@pytest.mark.requirement("F07")
@pytest.mark.parametrize("leads_to", ["169.254.169.254", "0.0.0.0", "fe80::1"])
def test_the_provider_is_no_metadata_server(
    provider: Any, settings: Any, monkeypatch: Any, leads_to: str
) -> None:
    post.resolver(monkeypatch, {"issuer.example": ["127.0.0.1", leads_to]})
    at = f"http://issuer.example:{provider.server_port}"
    with pytest.raises(RequestException, match="of the public internet"):
        _session(settings, at).post(f"{at}/token", data={"secret": "x"})
    assert provider.bodies == []


@pytest.mark.requirement("F07")
def test_the_certificate_is_that_of_the_name(
    settings: Any, monkeypatch: Any, tmp_path: Path
) -> None:
    certificate = post.self_signed(tmp_path, "issuer.example")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, f"{certificate}.key")
    greeted: list[Any] = []
    context.sni_callback = lambda _socket, name, _context: greeted.append(name)
    names = {"issuer.example": ["127.0.0.1"], "other.example": ["127.0.0.1"]}
    post.resolver(monkeypatch, names)
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificate))
    with post.web_hook(context) as hook:
        for name in names:
            at = f"https://{name}:{hook.port}/token"
            session = _session(settings, at)
            if name == "issuer.example":
                assert session.post(at, data={"secret": "x"}).status_code == 204
            else:
                with pytest.raises(RequestException, match="CERTIFICATE_VERIFY_FAILED"):
                    session.post(at, data={"secret": "x"})
    assert greeted == list(names)
    assert len(hook.got) == 1


@pytest.mark.requirement("F07")
def test_no_password_of_the_machine_goes_along(
    provider: Any, settings: Any, monkeypatch: Any, tmp_path: Path
) -> None:
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login me password secret\n")
    (tmp_path / "netrc").chmod(0o600)
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    at = f"http://127.0.0.1:{provider.server_port}"
    assert _session(settings, at).post(f"{at}/token").status_code == 200
    assert _session(settings, at).post(f"{at}/token", auth=("client", "x")).status_code == 200
    assert [one is None for one in provider.auth] == [True, False]
