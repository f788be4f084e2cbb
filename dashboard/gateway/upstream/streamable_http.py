"""MCP servers that answer streamable HTTP, as the gateway's client."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import httpx2
from django.conf import settings

from checkpoints.outbound import addresses
from checkpoints.outbound.connections import AsyncCheckedTransport
from checkpoints.outbound.event_lines import EventLines, LongLine

from ..registry.queries import ServerRow
from ..registry.refusals import refusal
from . import wire
from .answers import decoded
from .wire import Message

ANSWER_BYTES: Final = 32 * 1024 * 1024
CONNECT_SECONDS: Final = 10.0
LIMITS: Final = httpx2.Limits(max_connections=500, max_keepalive_connections=100)
SESSION: Final = "mcp-session-id"
PROTOCOL: Final = "mcp-protocol-version"


class NotSent(Exception):
    """The server never got the message, or refused it: what it asks for did not happen."""


class NoSession(NotSent):
    """The server no longer knows the session: its client has to begin a new one."""


class Broken(Exception):
    """The answer did not come, or not whole: nobody knows what the server did."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A server's answer: its session where it names one, and its messages as they come."""

    status: int
    session: str
    messages: AsyncIterator[Message]


@dataclass(frozen=True, slots=True)
class Sending:
    """A message on its way: whose session it belongs to, and the credential of the gateway."""

    message: Message
    session: str = ""
    protocol: str = ""
    secret: str = ""
    schema: Any = None


def headers_of(server: ServerRow, sending: Sending) -> dict[str, str]:
    """The headers of a message. What repeats its content is made of the content, never copied."""
    message, headers = sending.message, {"accept": "application/json, text/event-stream"}
    headers["content-type"] = "application/json"
    if sending.session:
        headers[SESSION] = sending.session
    version = wire.meta_of(message).get(wire.VERSION, sending.protocol)
    if isinstance(version, str) and version:
        headers[PROTOCOL] = wire.header_value(version)
    if wire.is_modern(message) and (method := message.get("method")):
        params = message.get("params", {})
        headers["mcp-method"] = wire.header_value(method)
        named = params.get(wire.NAMED_BY.get(method, ""))
        if isinstance(named, str):
            headers["mcp-name"] = wire.header_value(named)
        headers |= wire.param_headers(sending.schema, params.get("arguments"))
    if sending.secret:
        if not (sending.secret.isascii() and sending.secret.isprintable()):
            raise NotSent(f"The credential of {server.name} can't be sent in a header.")
        carrier = server.credential_to or "Authorization"
        bearer = carrier.lower() == "authorization" and " " not in sending.secret
        headers[carrier.lower()] = f"Bearer {sending.secret}" if bearer else sending.secret
    return headers


class HttpServers:
    """The connections of one event loop to all servers."""

    def __init__(self) -> None:
        seconds = float(settings.GATEPOST_MCP_CALL_SECONDS)
        self._client = httpx2.AsyncClient(
            timeout=httpx2.Timeout(seconds, connect=CONNECT_SECONDS, pool=CONNECT_SECONDS),
            mounts={
                "https://": _transport(only_listed=False),
                "http://": _transport(only_listed=True),
            },
            follow_redirects=False,
            trust_env=False,
        )

    @asynccontextmanager
    async def send(self, server: ServerRow, sending: Sending) -> AsyncIterator[Reply]:
        """Send one message; raises NotSent and Broken."""
        if why := refusal(server):
            raise NotSent(why)
        raw = json.dumps(sending.message, separators=(",", ":"), ensure_ascii=False).encode()
        request = self._client.build_request(
            "POST", _url(server.url), content=raw, headers=headers_of(server, sending)
        )
        try:
            response = await self._client.send(request, stream=True)
        except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout) as error:
            raise NotSent(f"{server.name} can't be reached: {_why(error)}") from error
        except httpx2.HTTPError as error:
            raise Broken(f"{server.name} broke off: {_why(error)}") from error
        try:
            yield Reply(
                response.status_code,
                response.headers.get(SESSION, ""),
                _messages(server, response, sending),
            )
        finally:
            await response.aclose()

    async def close_at(self, server: ServerRow, sending: Sending) -> int:
        """End a session at the server; the status of its answer."""
        if why := refusal(server):
            raise NotSent(why)
        headers = headers_of(server, sending)
        try:
            response = await self._client.delete(server.url, headers=headers)
        except httpx2.HTTPError as error:
            raise NotSent(f"{server.name} can't be reached: {_why(error)}") from error
        return response.status_code

    async def close(self) -> None:
        """Close all connections."""
        await self._client.aclose()


def _transport(*, only_listed: bool) -> AsyncCheckedTransport:
    """Connections by the rule for what admins name; `only_listed`: those without encryption."""

    def judge(host: str, port: int) -> list[str]:
        networks = settings.GATEPOST_MCP_NETWORKS
        return addresses.allowed(host, port, networks, only_listed=only_listed, what="server")

    return AsyncCheckedTransport(judge, limits=LIMITS, trust_env=False)


@lru_cache(maxsize=256)
def _url(text: str) -> httpx2.URL:
    """An address that was read before: it is the same for each call."""
    return httpx2.URL(text)


def _why(error: Exception) -> str:
    return str(error) or type(error).__name__


async def _messages(
    server: ServerRow, response: httpx2.Response, sending: Sending
) -> AsyncIterator[Message]:
    """The messages of a response as they come; raises NotSent and Broken.

    One JSON message is the answer where it names the request, and an error also where it names
    none: a server that refuses may not have read the id. 404 to a session says that the session is
    over, whatever words come with it.
    """
    status, kind = response.status_code, response.headers.get("content-type", "").lower()
    try:
        async with asyncio.timeout(float(settings.GATEPOST_MCP_CALL_SECONDS)):
            if status < 300 and kind.startswith("text/event-stream"):
                async for message in _events(response):
                    yield message
                return
            raw = await _read(response)
    except TimeoutError as error:
        raise Broken(f"{server.name} took too long.") from error
    except httpx2.HTTPError as error:
        raise Broken(f"{server.name} broke off: {_why(error)}") from error
    if not raw and status < 300:
        return
    answer = decoded(raw) if kind.startswith("application/json") else None
    is_over = status == 404 and bool(sending.session)
    if answer is not None and answer.get("id") is None and "error" in answer:
        answer |= {"id": sending.message.get("id")}
    if answer is not None and is_answer(answer, sending.message.get("id")) and not is_over:
        yield answer
    elif answer is not None and "result" in answer:
        raise Broken(f"{server.name} answered another request.")
    elif status == 404:
        raise NoSession(f"{server.name} does not know the session; begin a new one.")
    elif 300 <= status < 500:
        raise NotSent(f"{server.name} refused the message with HTTP {status}.")
    else:
        raise Broken(f"{server.name} answered HTTP {status} and no message.")


async def _read(response: httpx2.Response) -> bytes:
    parts, size = [], 0
    async for part in response.aiter_bytes():
        size += len(part)
        if size > ANSWER_BYTES:
            raise httpx2.RemoteProtocolError("the answer is too large")
        parts.append(part)
    return b"".join(parts)


async def _events(response: httpx2.Response) -> AsyncIterator[Message]:
    """The messages of a stream of events."""
    data: list[str] = []
    size = 0
    async for line in _lines(response):
        if line.startswith("data:"):
            data.append(line[5:].removeprefix(" "))
            size += len(line)
            if size > ANSWER_BYTES:
                raise httpx2.RemoteProtocolError("an event is too large")
        elif not line and data:
            message = decoded("\n".join(data).encode())
            data, size = [], 0
            if message is not None:
                yield message


async def _lines(response: httpx2.Response) -> AsyncIterator[str]:
    reader = EventLines(ANSWER_BYTES)
    try:
        async for chunk in response.aiter_bytes():
            for line in reader.feed(chunk):
                yield line
    except LongLine:
        raise httpx2.RemoteProtocolError("an event is too large") from None
    yield reader.rest()


def secrets_of(sending: Sending) -> set[str]:
    """The secrets that must stay out of the record."""
    return {sending.secret} if sending.secret else set()


def is_answer(message: Mapping[str, Any], ident: Any) -> bool:
    """True for the answer to the request of this id: 1, "1" and true are three ids."""
    number = message.get("id")
    is_whole = ("result" in message) is not ("error" in message)
    return "method" not in message and is_whole and type(number) is type(ident) and number == ident
