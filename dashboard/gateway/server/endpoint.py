"""The address of the MCP server: who may come in, and a body of which nothing is changed."""

from __future__ import annotations

import json
import time
from io import BytesIO
from typing import Any, Final

import structlog
from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from rest_framework import exceptions as rest
from rest_framework.request import Request

from checkpoints.errors import InvalidValue
from checkpoints.state.deltas import LIMITS, decode_request
from dashboard.errors import Forbidden, Missing, NotInstalled, TooLarge
from dashboard.http.access_log import request_id
from dashboard.http.body_limits import App, Message, Receive, Send
from dashboard.identity.permissions import Actor, actor_of, require
from dashboard.identity.rate_limits import REPORTS_ACCOUNT, REPORTS_ADDRESS
from dashboard.kit.api import limits
from dashboard.kit.api.authentication import TokenAuthentication
from dashboard.kit.shapes import problems
from dashboard.live.origins import allowed
from dashboard.live.process import tidy
from workers.broker import trace_ids

log = structlog.get_logger("gatepost.access")

PATHS: Final = ("/mcp", "/mcp/")
PARSE_ERROR: Final = -32700
X_REQUEST_ID: Final = b"x-request-id"


class McpServer:
    """ASGI: MCP by POST, for bearer tokens of Gatepost; `application` answers calls of the API.

    A request is refused in this order: an address that is none (404), another method (405), a page
    of another origin (403), no token or a bad one (401), too many (429), no member (403), too large
    a body (413), JSON that cannot be kept as it is (400, a JSON-RPC error with the path).
    """

    def __init__(self, application: App) -> None:
        self._application = application

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        raw = await _body(receive)
        if raw is None:
            return  # the sender has left
        began = time.perf_counter()
        entry = await sync_to_async(tidy(_admit), thread_sensitive=False)(scope, raw)
        answered = _Answered(send, entry.request_id)
        if entry.refusal is not None:
            await _refuse(answered.send, *entry.refusal)
        else:
            await self._serve(scope, entry, raw, receive, answered.send)
        log.info(
            "request",
            method=scope["method"] if scope["method"] == "POST" else "OTHER",
            route="/mcp/",
            status=answered.status,
            ms=round((time.perf_counter() - began) * 1000, 1),
            user="" if entry.actor is None else entry.actor.id,
            **{trace_ids.NAME: entry.request_id},
        )

    async def _serve(
        self, scope: Message, entry: _Entry, raw: bytes, receive: Receive, send: Send
    ) -> None:
        from .protocol import ACTOR, APPLICATION, serve  # the SDK takes a second to import

        is_read = False

        async def replay() -> Message:
            nonlocal is_read
            if is_read:
                return await receive()
            is_read = True
            return {"type": "http.request", "body": raw, "more_body": False}

        headers = [pair for pair in scope["headers"] if pair[0] != X_REQUEST_ID]
        headers.append((X_REQUEST_ID, entry.request_id.encode()))
        inner = {**scope, "headers": headers, ACTOR: entry.actor, APPLICATION: self._application}
        await serve(inner, replay, send)


class _Entry:
    """The id and sender of a request, or why it is refused."""

    def __init__(self, request_id: str) -> None:
        self.request_id = request_id
        self.actor: Actor | None = None
        # Status, headers, media type, body.
        self.refusal: tuple[int, dict[str, str], str, bytes] | None = None


class _Answered:
    """`send` with the headers that all answers have; remembers the status."""

    def __init__(self, send: Send, request_id: str) -> None:
        self._send = send
        self._headers = [
            (X_REQUEST_ID, request_id.encode()),
            (b"cache-control", b"no-store"),
            (b"x-content-type-options", b"nosniff"),
        ]
        self.status = 0

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = [h for h in message.get("headers", ()) if h[0] != b"cache-control"]
            message = {**message, "headers": [*headers, *self._headers]}
        await self._send(message)


async def _body(receive: Receive) -> bytes | None:
    """The whole body, which was bounded before; None where the sender left."""
    parts = []
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return None
        parts.append(message.get("body", b""))
        if not message.get("more_body", False):
            return b"".join(parts)


def _admit(scope: Message, raw: bytes) -> _Entry:
    """Find out who sends the request and read its body strictly; blocking."""
    django = ASGIRequest(scope, BytesIO())
    request: Any = Request(django, authenticators=[TokenAuthentication()])
    entry = _Entry(request_id(django))
    try:
        _check_address(scope, django)
        limits.known(request, _authenticate, REPORTS_ADDRESS, REPORTS_ACCOUNT)
        if not request.user.is_authenticated:
            raise rest.NotAuthenticated
        entry.actor = actor_of(request.user, request.auth)
        require(entry.actor, "read")
        if len(raw) > LIMITS.request_bytes:
            raise TooLarge("$", f"has more than the {LIMITS.request_bytes:,} bytes that are taken")
        decode_request(raw)
        _check_installed()
    except InvalidValue as error:
        entry.refusal = (400, {}, "application/json", _parse_error(error))
    except Exception as error:
        entry.refusal = _problem(error, request)
    return entry


def _authenticate(request: Request) -> None:
    """Look at the token, as REST framework does with the first look at the user."""
    _ = request.user


def _check_address(scope: Message, request: Any) -> None:
    """Refuse other addresses, methods, hosts and origins; a browser's page may not call us."""
    request.get_host()
    if scope["path"] not in PATHS:
        raise Missing("There is nothing at this address.")
    if scope["method"] != "POST":
        raise rest.MethodNotAllowed(str(scope["method"])[:20])
    if "Origin" in request.headers and not allowed(scope):
        raise Forbidden("Pages of other origins may not call this server.")


def _check_installed() -> None:
    try:
        import mcp  # noqa: F401
    except ImportError:
        raise NotInstalled("The MCP server needs the extra `mcp`: pip install '.[mcp]'.") from None


def _parse_error(error: InvalidValue) -> bytes:
    payload = {"code": PARSE_ERROR, "message": str(error), "data": {"path": error.path}}
    return json.dumps({"jsonrpc": "2.0", "id": None, "error": payload}).encode()


def _problem(error: Exception, request: Request) -> tuple[int, dict[str, str], str, bytes]:
    """The problem that the API answers for an error; raises it for Django's debug page."""
    if isinstance(error, rest.NotAuthenticated | rest.AuthenticationFailed):
        named: Any = error
        named.auth_header = TokenAuthentication().authenticate_header(request)
    answer = problems.handler(error, {"request": request})
    if answer is None:
        raise error
    headers = {name: str(value) for name, value in answer.headers.items() if name != "Content-Type"}
    if answer.status_code == 405:
        headers["Allow"] = "POST"
    return answer.status_code, headers, problems.MEDIA_TYPE, json.dumps(answer.data).encode()


async def _refuse(
    send: Send, status: int, headers: dict[str, str], media_type: str, body: bytes
) -> None:
    pairs = [(name.lower().encode(), value.encode("latin-1")) for name, value in headers.items()]
    pairs.append((b"content-type", media_type.encode()))
    pairs.append((b"content-length", str(len(body)).encode()))
    await send({"type": "http.response.start", "status": status, "headers": pairs})
    await send({"type": "http.response.body", "body": body})
