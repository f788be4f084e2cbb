"""Which pages may open a socket: those of this very address, checked whole."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.http.request import validate_host

Scope = dict[str, Any]
Application = Callable[..., Awaitable[None]]
PORTS = {"http": 80, "https": 443}


def split(origin: str) -> tuple[str, str, int] | None:
    """(scheme, host, port) of an origin, defaults filled in; None for what is no web origin."""
    try:
        parts = urlsplit(origin)
        port = parts.port or PORTS.get(parts.scheme)
    except ValueError:
        return None
    whole = f"{parts.scheme}://{parts.netloc}"
    if parts.scheme not in PORTS or not parts.hostname or port is None:
        return None
    if whole != origin or "@" in parts.netloc:
        return None
    return parts.scheme, parts.hostname.lower(), port


def trusted(origin: str, patterns: Iterable[str]) -> bool:
    """True if CSRF_TRUSTED_ORIGINS names this origin; `https://*.example.org` covers subdomains."""
    parts = split(origin)
    for pattern in patterns:
        wanted = split(pattern.replace("*.", "", 1))
        if parts is None or wanted is None or (parts[0], parts[2]) != (wanted[0], wanted[2]):
            continue
        wild = "://*." in pattern
        if parts[1] == wanted[1] if not wild else parts[1].endswith(f".{wanted[1]}"):
            return True
    return False


def allowed(scope: Scope) -> bool:
    """True if the page that opens the socket has the scheme, host and port it connects to.

    True too for a script with a token: no page can send that header, and the token alone counts.
    """
    headers = {name: value.decode("latin-1") for name, value in scope.get("headers", ())}
    if headers.get(b"authorization", "").lower().startswith("bearer "):
        return True
    origin, host = headers.get(b"origin", ""), headers.get(b"host", "")
    parts = split(origin)
    if parts is None:
        return False
    if trusted(origin, settings.CSRF_TRUSTED_ORIGINS):
        return True
    scheme = "https" if scope.get("scheme") in ("wss", "https") else "http"
    if settings.SECURE_PROXY_SSL_HEADER:
        name, value = settings.SECURE_PROXY_SSL_HEADER
        header = name.removeprefix("HTTP_").replace("_", "-").lower().encode()
        if headers.get(header, "").partition(",")[0].strip() == value:
            scheme = "https"
    here = split(f"{scheme}://{host}")
    return parts == here and validate_host(parts[1], _hosts())


def _hosts() -> list[str]:
    hosts: list[str] = list(settings.ALLOWED_HOSTS)
    # IPv6 literals are listed in brackets; a split host has none.
    return hosts + [h.strip("[]") for h in hosts if h.startswith("[")]


class SameOrigin:
    """ASGI middleware that refuses the handshake of pages from elsewhere, before anything else."""

    def __init__(self, application: Application) -> None:
        self.application = application

    async def __call__(
        self, scope: Scope, receive: Callable[..., Any], send: Callable[..., Awaitable[None]]
    ) -> None:
        if allowed(scope):
            await self.application(scope, receive, send)
            return
        await receive()  # websocket.connect
        await send({"type": "websocket.close", "code": 4403})
