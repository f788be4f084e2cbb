"""Answers of the gateway on their way to a client: one JSON message, or a stream of them."""

from __future__ import annotations

from collections.abc import Mapping

from dashboard.http.body_limits import Send

from .upstream.answers import encoded
from .upstream.wire import Message


class Responder:
    """The answer to one HTTP request; a stream begins with the first message before its end."""

    def __init__(self, send: Send, accept: str) -> None:
        self._send = send
        self._streams = "text/event-stream" in accept.lower()
        self.session = ""
        self.status = 0

    async def note(self, message: Message) -> None:
        """Send a message before the answer; clients that take one JSON message miss it."""
        if not self._streams:
            return
        if not self.status:
            await self._start(200, "text/event-stream", {})
        await self._body(_event(message), more=True)

    async def end(
        self,
        message: Message | None,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """Send the answer; None for an answer without a message."""
        if self.status:
            await self._body(b"" if message is None else _event(message), more=False)
            return
        raw = b"" if message is None else encoded(message)
        more = {"content-length": str(len(raw)), **(headers or {})}
        await self._start(status, "application/json" if raw else "", more)
        await self._body(raw, more=False)

    async def _start(self, status: int, kind: str, headers: Mapping[str, str]) -> None:
        self.status = status
        named = {"cache-control": "no-store", "x-content-type-options": "nosniff", **headers}
        if kind:
            named["content-type"] = kind
        if self.session:
            named["mcp-session-id"] = self.session
        pairs = [(name.encode(), value.encode("latin-1")) for name, value in named.items()]
        await self._send({"type": "http.response.start", "status": status, "headers": pairs})

    async def _body(self, raw: bytes, *, more: bool) -> None:
        await self._send({"type": "http.response.body", "body": raw, "more_body": more})


def _event(message: Message) -> bytes:
    # A result is passed on as its server spelled it, with its line breaks.
    return b"event: message\ndata: " + b"\ndata: ".join(encoded(message).splitlines()) + b"\n\n"
