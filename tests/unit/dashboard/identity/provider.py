"""A real provider of OpenID Connect in a thread of the test, which also notes how PKCE was used."""

from __future__ import annotations

import base64
import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import flask
import httpx
import oidc_provider_mock
import werkzeug.serving


@dataclass
class Provider:
    """A running provider: its address, its people, and what a client has proved to it."""

    issuer: str
    challenges: list[str] = field(default_factory=list)
    verifiers: list[str] = field(default_factory=list)

    def person(self, sub: str, **claims: Any) -> None:
        """Somebody with these claims, from their next sign-in on."""
        answer = httpx.put(f"{self.issuer}/users/{sub}", json=claims)
        assert answer.is_success, answer.text

    def proved(self) -> bool:
        """True when each code was redeemed with the verifier of its challenge (S256)."""
        hashed = [hashlib.sha256(v.encode()).digest() for v in self.verifiers]
        named = [base64.urlsafe_b64encode(h).decode().rstrip("=") for h in hashed]
        return bool(named) and named == self.challenges[: len(named)]


@contextmanager
def provider() -> Iterator[Provider]:
    """One that runs until the block ends."""
    app = oidc_provider_mock.app()
    server = werkzeug.serving.make_server("localhost", 0, app, threaded=True)
    started = Provider(f"http://localhost:{server.server_port}")

    @app.before_request
    def note() -> None:
        if flask.request.path == "/oauth2/authorize" and flask.request.method == "POST":
            assert flask.request.args["code_challenge_method"] == "S256"
            started.challenges.append(flask.request.args["code_challenge"])
        if flask.request.path == "/oauth2/token":
            started.verifiers.append(flask.request.form["code_verifier"])

    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield started
    finally:
        server.shutdown()
        thread.join(5)
        server.server_close()
