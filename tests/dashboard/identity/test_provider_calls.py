"""Calls to the provider of single sign-on: bounded by its issuer, whatever its document names."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from typing import Any

import pytest
from requests import RequestException

from dashboard.identity.sso.provider_calls import ProviderCalls
from tests.approvals import post


class _Counts(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        server: Any = self.server
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
    server.bodies, server.leads_to = [], ""
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
    other.bodies, other.leads_to = [], ""
    threading.Thread(target=other.serve_forever, args=(0.02,), daemon=True).start()
    at = f"http://127.0.0.1:{provider.server_port}"
    provider.leads_to = f"http://127.0.0.1:{other.server_port}/"
    answer = _session(settings, at).post(f"{at}/token", data={"secret": "x"})
    assert (answer.status_code, len(provider.bodies), other.bodies) == (307, 1, [])
    other.shutdown()
    other.server_close()
