"""Django behind ASGI: all middleware and the view of a request work in one thread.

Django's own chain goes from the event loop to a thread and back for each synchronous middleware,
and ours are all synchronous. Each request at work needs its thread, so there is a limit of requests
at the same time. Streams of events and long polls leave the count when their answer begins.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from asgiref.sync import ThreadSensitiveContext, sync_to_async
from django.core.handlers.asgi import ASGIHandler
from django.db import close_old_connections
from django.http.response import HttpResponseBase

from .body_limits import Refusal, refuse

# Connections to the database are fewer (GATEPOST_POOL): most of many requests would wait.
REQUESTS_MAX: Final = 256
# A supervisor that got no answer here would end the process and all that it works on.
LIVENESS: Final = "/healthz"
BUSY: Final = Refusal(
    503,
    "unavailable",
    "Not available",
    f"The server works on {REQUESTS_MAX} requests already; try again in a few seconds.",
)


class OneThread(ASGIHandler):
    """Django's handler with the synchronous chain of middleware, entered once per request.

    Answers 503 with Retry-After, without a thread, while REQUESTS_MAX requests are at work. A
    thread that has ended one request is used by the next one: the library's own context would
    start two for each, and Django would build its connection anew in it.
    """

    def __init__(self) -> None:
        super().__init__()
        self._at_work: set[int] = set()
        self._free: list[ThreadPoolExecutor] = []  # of one thread each, the last used on top

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Work on one request, or refuse it."""
        if len(self._at_work) >= REQUESTS_MAX and scope["path"] != LIVENESS:
            await refuse(scope, send, BUSY)
            return
        self._at_work.add(id(scope))
        thread = self._free.pop() if self._free else ThreadPoolExecutor(max_workers=1)
        try:
            async with ThreadSensitiveContext(executor=thread):
                await super().__call__(scope, receive, send)
        finally:
            self._at_work.discard(id(scope))
            self._free.append(thread)

    def load_middleware(self, is_async: bool = False) -> None:
        """Build the synchronous chain, whatever is asked for."""
        super().load_middleware(is_async=False)

    def create_request(self, scope: Mapping[str, Any], body_file: Any) -> Any:
        """Make the request; a body whose length was not announced has the length that came.

        Without one Django takes a form for empty, and REST framework any body.
        """
        request, refusal = super().create_request(scope, body_file)
        if request is not None and "CONTENT_LENGTH" not in request.META:
            request.META["CONTENT_LENGTH"] = str(body_file.seek(0, os.SEEK_END))
            body_file.seek(0)
        return request, refusal

    async def get_response_async(self, request: Any) -> HttpResponseBase:
        """Work on the request in its thread; what was begun is ended though the sender left."""
        work = asyncio.ensure_future(sync_to_async(self._answer)(request))
        try:
            response = await asyncio.shield(work)
        except asyncio.CancelledError:
            # Django closes the request's body next: not while the thread still reads it.
            response = await work
            await sync_to_async(response.close)()
            raise
        if getattr(response, "is_async", False):
            # Such a stream waits in the event loop; who follows a thread must not keep others out.
            self._at_work.discard(id(request.scope))
        return response

    def _answer(self, request: Any) -> HttpResponseBase:
        """Make the response; the thread's connection is given back before it is sent."""
        try:
            return self.get_response(request)
        finally:
            close_old_connections()
