"""How much of a request is read at all: Django keeps a body whole before it asks who sends it."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from django.conf import settings

from checkpoints.deltas import LIMITS
from dashboard.api.problems import MEDIA_TYPE, problem

type Message = dict[str, Any]
type Receive = Callable[[], Awaitable[Message]]
type Send = Callable[[Message], Awaitable[None]]
type App = Callable[..., Awaitable[None]]

# What is a little too large is refused by the views, which know its path.
ROOM = 4 * LIMITS.request_bytes


class Bounded:
    """ASGI: 413 for bodies that no view would take, by their announced length or while they come.

    Files have the limit of GATEPOST_UPLOAD_MAX_BYTES, everything else that of a JSON body.
    """

    def __init__(self, app: App) -> None:
        self.app = app

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        limit = _limit(scope["headers"])
        if _announced(scope["headers"]) > limit:
            await _refuse(scope, send, limit)
            return
        taken, over = 0, False

        async def counted() -> Message:
            nonlocal taken, over
            message = await receive()
            taken += len(message.get("body", b""))
            if taken > limit:
                over = True
                return {"type": "http.disconnect"}  # Django gives up and answers nothing
            return message

        async def said(message: Message) -> None:
            if not over:
                await send(message)

        await self.app(scope, counted, said)
        if over:
            await _refuse(scope, send, limit)


def _limit(headers: Iterable[tuple[bytes, bytes]]) -> int:
    kind = dict(headers).get(b"content-type", b"").lower()
    files = int(settings.GATEPOST_UPLOAD_MAX_BYTES)
    return ROOM + (files if kind.startswith(b"multipart/form-data") else 0)


def _announced(headers: Iterable[tuple[bytes, bytes]]) -> int:
    said = dict(headers).get(b"content-length", b"")
    return int(said) if said.isdigit() and len(said) < 20 else 0


async def _refuse(scope: Message, send: Send, limit: int) -> None:
    detail = f"The request has more than the {limit:,} bytes that are taken here."
    if scope["path"].startswith("/api/"):
        kind = MEDIA_TYPE
        body = json.dumps(problem("too-large", "Too large", 413, detail) | {"path": "$"})
    else:
        kind, body = "text/plain; charset=utf-8", detail
    raw = body.encode()
    headers = [
        (b"content-type", kind.encode()),
        (b"content-length", str(len(raw)).encode()),
        (b"connection", b"close"),  # the rest of the body is not read
        (b"x-content-type-options", b"nosniff"),
    ]
    await send({"type": "http.response.start", "status": 413, "headers": headers})
    await send({"type": "http.response.body", "body": raw})
