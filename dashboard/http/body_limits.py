"""Limit request bodies by sender, before Django, which keeps a body whole, reads them."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final

from asgiref.sync import sync_to_async
from django.conf import settings
from django.db import InterfaceError, OperationalError, close_old_connections

from approvals.hooks.deliveries import BODY_MAX
from checkpoints.state.deltas import LIMITS
from dashboard.identity import senders
from dashboard.identity.permissions import Actor, may
from dashboard.kit.shapes.problems import MEDIA_TYPE, problem

type Message = dict[str, Any]
type Receive = Callable[[], Awaitable[Message]]
type Send = Callable[[Message], Awaitable[None]]
type App = Callable[..., Awaitable[None]]
type Sender = Callable[[senders.Headers], Actor | None]

# The sign-in form is far smaller; a delivery to a hook is known by a signature over its body.
ANONYMOUS_BYTES: Final = 8 * 1024
HOOKS: Final = "/api/v1/hooks/decide/"
# What is a little too large is refused by the views, which know its path.
ROOM: Final = 4 * LIMITS.request_bytes
# A body may come as slowly as this, after some seconds in which nothing has to come.
SLOWEST_BYTES: Final = 16 * 1024
# The only addresses that take files: the call, and the forms of a thread's state.
UPLOADS: Final = re.compile(r"/api/v1/artifacts/|/threads/(new|[^/]+/(edit|fork))/")


@dataclass(frozen=True, slots=True)
class Refusal:
    """The reason why a request gets to no view, as a problem and as a text."""

    status: int
    code: str
    title: str
    detail: str


SIGN_IN: Final = Refusal(
    401,
    "unauthenticated",
    "Unauthorized",
    f"Sign in first: without a login or a token at most {ANONYMOUS_BYTES:,} bytes are taken.",
)
TOO_SLOW: Final = Refusal(
    408, "too-slow", "Request timeout", "The request's body came too slowly. Send it again."
)
NO_DATABASE: Final = Refusal(
    503, "unavailable", "Not available", "The database does not answer; try again."
)


class Bounded:
    """ASGI: answers bodies that no view would take, by their announced length or while they come.

    Up to ANONYMOUS_BYTES are read of anybody. Who sends more is looked up before more is read:
    members may send what a JSON body may have, and files of GATEPOST_UPLOAD_MAX_BYTES where files
    are taken and their roles allow it. 401 for strangers, 413 for too much, 408 for too slow.
    """

    def __init__(self, app: App, sender: Sender = senders.sender) -> None:
        self.app = app
        self.sender = sender

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        body = _Body(scope, receive, self.sender)
        if await body.admit(_announced(scope)):
            await self.app(scope, body.receive, body.guard(send))
        if body.refusal is not None:
            await refuse(scope, send, body.refusal)


class _Body:
    """One request's body on its way in; `refusal` is set where it is not read on."""

    def __init__(self, scope: Message, receive: Receive, sender: Sender) -> None:
        self._scope, self._receive, self._sender = scope, receive, sender
        hook = scope["path"].startswith(HOOKS)
        self._limit = BODY_MAX + 1 if hook else ANONYMOUS_BYTES
        self._is_known = hook  # its sender is found by the view, from the body itself
        self._taken = 0
        self._is_whole = False
        self._began = time.monotonic()
        self.refusal: Refusal | None = None

    async def admit(self, n_bytes: int) -> bool:
        """Check whether these bytes may be read from this sender; sets `refusal` if not."""
        if n_bytes > self._limit and not self._is_known:
            try:
                who = await sync_to_async(self._look_up, thread_sensitive=False)()
            except (OperationalError, InterfaceError):
                self.refusal = NO_DATABASE
                return False
            if who is None:
                self.refusal = SIGN_IN
                return False
            self._is_known, self._limit = True, _limit(self._scope, who)
        if n_bytes > self._limit:
            message = f"The request has more than the {self._limit:,} bytes that are taken here."
            self.refusal = Refusal(413, "too-large", "Too large", message)
            return False
        return True

    def _look_up(self) -> Actor | None:
        try:
            return self._sender(self._scope["headers"])
        finally:
            close_old_connections()

    async def receive(self) -> Message:
        """The next part; a disconnect once the body is refused: Django gives up, answers nothing.

        What is announced may be a lie, so what comes is counted.
        """
        if self._is_whole:
            return await self._receive()  # waits for the sender to go away, as long as it takes
        patience = settings.GATEPOST_BODY_SECONDS + self._taken / SLOWEST_BYTES
        try:
            async with asyncio.timeout(self._began + patience - time.monotonic()):
                message = await self._receive()
        except TimeoutError:
            self.refusal = TOO_SLOW
            return {"type": "http.disconnect"}
        self._taken += len(message.get("body", b""))
        self._is_whole = not message.get("more_body", False)
        if not await self.admit(self._taken):
            return {"type": "http.disconnect"}
        return message

    def guard(self, send: Send) -> Send:
        """`send` for an application that need not know that its request was refused."""

        async def guarded(message: Message) -> None:
            if self.refusal is None:
                await send(message)

        return guarded


def _limit(scope: Message, who: Actor) -> int:
    kind = dict(scope["headers"]).get(b"content-type", b"").lower()
    takes_files = kind.startswith(b"multipart/form-data") and UPLOADS.fullmatch(scope["path"])
    if takes_files and may(who, "upload"):
        return ROOM + int(settings.GATEPOST_UPLOAD_MAX_BYTES)
    return ROOM


def _announced(scope: Message) -> int:
    message = dict(scope["headers"]).get(b"content-length", b"")
    return int(message) if message.isdigit() and len(message) < 20 else 0


async def refuse(scope: Message, send: Send, refusal: Refusal) -> None:
    """Answer a request that no view gets: a problem to callers of the API, a text to others."""
    if scope["path"].startswith(("/api/", "/mcp")):
        kind = MEDIA_TYPE
        payload = problem(refusal.code, refusal.title, refusal.status, refusal.detail)
        body = json.dumps(payload | {"path": "$"})
    else:
        kind, body = "text/plain; charset=utf-8", refusal.detail
    raw = body.encode()
    headers = [
        (b"content-type", kind.encode()),
        (b"content-length", str(len(raw)).encode()),
        (b"connection", b"close"),  # the rest of the body is not read
        (b"x-content-type-options", b"nosniff"),
    ]
    if refusal.status == 401:
        headers.append((b"www-authenticate", b'Bearer realm="gatepost"'))
    if refusal.status == 503:
        headers.append((b"retry-after", b"5"))
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": raw})
