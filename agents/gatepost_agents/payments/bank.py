"""Calls the bank over HTTP; what goes wrong is an error whose text is for people.

`BankRefused.response` carries `status_code` and `headers`, as HTTP libraries have it, so that a
retry policy finds 429, 503 and Retry-After there.
"""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode, urlsplit

SECONDS = 10.0


@dataclass(frozen=True)
class Response:
    """The bank's response, as far as it matters for a retry."""

    status_code: int
    headers: dict[str, str] = field(default_factory=dict)


class BankRefused(RuntimeError):
    """The bank answered and said no."""

    plain = True

    def __init__(self, detail: str, response: Response) -> None:
        super().__init__(f"The bank refused ({response.status_code}): {detail}")
        self.response = response


class BankAway(ConnectionError):
    """No bank listens there, or the line broke: whether it did what it was told is not known."""

    plain = True


class BankSilent(TimeoutError):
    """The bank took the call and did not answer in time."""

    plain = True


class _Unix(http.client.HTTPConnection):
    """HTTP over a unix socket."""

    def __init__(self, path: str, seconds: float) -> None:
        super().__init__("localhost", timeout=seconds)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


def post(url: str, op: str, body: dict[str, Any], *, key: str) -> dict[str, Any]:
    """Let the bank do something once per key; its answer."""
    return _call(url, "POST", f"/{op}", body, {"Idempotency-Key": key})


def payments(url: str, suppliers: Iterable[str]) -> list[dict[str, str]]:
    """List the payments of the bank to these suppliers."""
    query = urlencode([("supplier", supplier) for supplier in suppliers])
    results: list[dict[str, str]] = _call(url, "GET", f"/payments?{query}")["payments"]
    return results


def health(url: str, seconds: float = SECONDS) -> dict[str, Any]:
    """The bank's own report of its health."""
    return _call(url, "GET", "/health", seconds=seconds)


def _call(
    url: str,
    method: str,
    path: str,
    body: dict[str, Any] | None = None,
    headers: dict[str, str] | None = None,
    seconds: float = SECONDS,
) -> dict[str, Any]:
    connection = _connection(url, seconds)
    content = None if body is None else json.dumps(body).encode()
    more = {"Content-Type": "application/json"} if content else {}
    try:
        connection.request(method, path, content, {**more, **(headers or {})})
        answer = connection.getresponse()
        raw = answer.read()
    except TimeoutError as error:
        raise BankSilent(
            f"The bank at {url} did not answer within {seconds:g} s; retry, it does nothing twice."
        ) from error
    except (OSError, http.client.HTTPException) as error:
        raise BankAway(
            f"The bank at {url} does not answer ({_cause(error)}). `up` starts a test bank; "
            "GATEPOST_BANK_URL names another. Then retry."
        ) from error
    finally:
        connection.close()
    try:
        payload = json.loads(raw)
    except ValueError:
        payload = {}
    if answer.status != 200:
        detail = payload.get("detail") if isinstance(payload, dict) else ""
        raise BankRefused(
            str(detail or answer.reason), Response(answer.status, dict(answer.getheaders()))
        )
    if not isinstance(payload, dict):
        raise BankAway(
            f"What answers at {url} is not a bank. GATEPOST_BANK_URL names it; then retry."
        )
    return payload


def _cause(error: Exception) -> str:
    return getattr(error, "strerror", "") or str(error) or type(error).__name__


def _connection(url: str, seconds: float) -> http.client.HTTPConnection:
    if url.startswith("unix:"):
        return _Unix(url.removeprefix("unix:"), seconds)
    parts = urlsplit(url)
    try:
        port = parts.port
    except ValueError:
        port = -1
    # Addresses stand in error texts: one with a password is refused, and none such is shown.
    if parts.scheme not in ("http", "https") or not parts.hostname or "@" in url or port == -1:
        raise BankAway(
            "GATEPOST_BANK_URL is not an address of a bank: it has the form http://host:port or "
            "unix:/path/of/socket, without a password. Set it, then retry."
        )
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    return kind(parts.hostname, port, timeout=seconds)
