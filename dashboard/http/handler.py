"""One thread per request: middleware, view and database work in it from beginning to end.

Django's own handler goes back and forth between the event loop and a fresh thread, once or twice
for each middleware; nothing of ours is asynchronous but what sends files.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import IO, Any, Final

from asgiref.sync import sync_to_async
from django.core import signals
from django.core.exceptions import RequestAborted
from django.core.handlers.asgi import ASGIHandler, get_script_prefix
from django.db import close_old_connections
from django.urls import set_script_prefix

type Message = Mapping[str, Any]
type Receive = Callable[[], Awaitable[Message]]
type Send = Callable[[Message], Awaitable[None]]

# Far more than there are connections to the database: whoever waits for one of those is told so
# after some seconds, and keeps nobody else from a thread. They are made as needed and used again.
THREADS: Final = 256
_threads: Final = ThreadPoolExecutor(THREADS, thread_name_prefix="request")


class _Answered(Exception):
    """Ends the wait for the browser to go away."""


class _Work:
    """A response in the making, closed once by whoever has it last."""

    def __init__(self) -> None:
        self.response: Any = None
        self.left = False  # nobody waits for it any more
        self._to_close = Lock()

    def close(self) -> None:
        """Close what was made, unless that was done."""
        if self._to_close.acquire(blocking=False):  # and never released
            self.response.close()


class OneThread(ASGIHandler):
    """Django behind ASGI with a synchronous chain of middleware."""

    def __init__(self) -> None:
        # Past the parent's, which would build the asynchronous chain.
        self.load_middleware(is_async=False)

    async def handle(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        """Read the body, answer in a thread, send; whoever goes away meanwhile is sent nothing."""
        try:
            body = await self.read_body(receive)
        except RequestAborted:
            return
        work = _Work()
        try:
            await self._until_gone(scope, body, work, receive, send)
        except BaseExceptionGroup as several:
            if len(several.exceptions) == 1:
                raise several.exceptions[0] from None
            raise
        finally:
            work.left = True
            if work.response is not None and work.response.streaming:
                await sync_to_async(work.close, thread_sensitive=False)()

    async def _until_gone(
        self, scope: dict[str, Any], body: IO[bytes], work: _Work, receive: Receive, send: Send
    ) -> None:
        in_thread = sync_to_async(self._answer, thread_sensitive=False, executor=_threads)
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self.listen_for_disconnect(receive))
                await in_thread(scope, body, work)
                await self.send_response(work.response, send)
                raise _Answered
        except* (_Answered, RequestAborted):
            pass

    def _answer(self, scope: dict[str, Any], body: IO[bytes], work: _Work) -> None:
        """Make the response; the thread gives its connection back before it is sent.

        Nobody may be there any more: the thread ends what it began, and clears up itself.
        """
        set_script_prefix(get_script_prefix(scope))
        signals.request_started.send(sender=self.__class__, scope=scope)
        try:
            request, refused = self.create_request(scope, body)
            response: Any = refused if request is None else self.get_response(request)
            response._handler_class = self.__class__
            work.response = response
            if work.left or not response.streaming:
                work.close()  # its text stays; sends request_finished
        finally:
            body.close()
            close_old_connections()
