"""Calls of the API from inside the web process: tools have their rights, limits and refusals.

A call goes through the whole API as one over the network does, under the caller's own token.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlencode

from dashboard.http.body_limits import App, Message

PREFIX: Final = "/api/v1/"
# Headers of the MCP request that the call takes over: who sends it, from where, under which id.
_NOT_PASSED: Final = (
    *(b"accept", b"content-", b"cookie", b"expect", b"gatepost-lease", b"idempotency-key", b"if-"),
    *(b"last-event-id", b"mcp-", b"origin", b"range", b"transfer-encoding"),
)


@dataclass(frozen=True, slots=True)
class ApiCall:
    """One call: `path` begins behind `/api/v1/`; `body` is JSON, None where there is none."""

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ApiAnswer:
    """Answer of the API: the status and the JSON, a problem from 400 on."""

    status: int
    data: Any

    @property
    def is_done(self) -> bool:
        """True unless the call was refused."""
        return self.status < 400

    @property
    def code(self) -> str:
        """The code of a problem, empty where there is none."""
        return "" if self.is_done else str(self.data["type"]).rsplit(":", 1)[-1]


type Api = Callable[[ApiCall], Awaitable[ApiAnswer]]


def api_of(application: App, outer: Message) -> Api:
    """Calls of the API in `application`, sent as the sender of the request of the scope `outer`."""

    async def send_call(call: ApiCall) -> ApiAnswer:
        # No escapes: they could make the body larger than the API takes.
        raw = b"" if call.body is None else json.dumps(call.body, ensure_ascii=False).encode()
        status, body = await _exchange(application, _scope(outer, call, len(raw)), raw)
        return ApiAnswer(status, json.loads(body))

    return send_call


def _scope(outer: Message, call: ApiCall, n_bytes: int) -> Message:
    path = PREFIX + call.path
    headers = [
        (name, value) for name, value in outer["headers"] if not name.startswith(_NOT_PASSED)
    ]
    headers.append((b"accept", b"application/json"))
    if call.body is not None:
        headers.append((b"content-type", b"application/json"))
    headers.append((b"content-length", str(n_bytes).encode()))
    for name, text in call.headers.items():
        headers.append((name.lower().encode(), text.encode("latin-1", "replace")))
    return {
        **outer,
        "method": call.method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": urlencode(call.query).encode(),
        "headers": headers,
    }


async def _exchange(application: App, scope: Message, raw: bytes) -> tuple[int, bytes]:
    """(status, body) of one request to an ASGI application."""
    status, parts, is_sent = 500, list[bytes](), False

    async def receive() -> Message:
        nonlocal is_sent
        if is_sent:
            await asyncio.Event().wait()  # until the application has answered: nobody leaves
        is_sent = True
        return {"type": "http.request", "body": raw, "more_body": False}

    async def send(message: Message) -> None:
        nonlocal status
        if message["type"] == "http.response.start":
            status = message["status"]
        else:
            parts.append(message.get("body", b""))

    await application(scope, receive, send)
    return status, b"".join(parts)
