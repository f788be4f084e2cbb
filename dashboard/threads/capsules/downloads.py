"""A capsule or an export as a download: streamed, and broken off where it cannot be ended.

Between two chunks neither a thread nor a database connection is held, however slow the reader is.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

from django.core.handlers.asgi import ASGIRequest
from django.db import connections
from django.http import HttpRequest, StreamingHttpResponse

MEDIA_TYPE = "application/zip"
# A few: an export reads the database in each turn, whose connections pages need as well.
_threads = ThreadPoolExecutor(max_workers=4, thread_name_prefix="download")


class Packed(Protocol):
    """A zip file that gives its bytes once."""

    @property
    def name(self) -> str: ...
    def chunks(self) -> Iterator[bytes]: ...
    def close(self) -> None: ...


def download(request: HttpRequest, capsule: Packed) -> StreamingHttpResponse:
    """An attachment; nothing of it lies in memory but one chunk."""
    body = _AsyncBody(capsule) if isinstance(request, ASGIRequest) else _Body(capsule)
    response = StreamingHttpResponse(body, content_type=MEDIA_TYPE)
    # The name is made of an agent's name and an id: nothing in it needs quoting.
    response["Content-Disposition"] = f'attachment; filename="{capsule.name}"'
    response["X-Content-Type-Options"] = "nosniff"
    response["Cache-Control"] = "no-store"
    response["X-Accel-Buffering"] = "no"  # nginx would collect it before it sends it
    return response


class _Made:
    """A capsule that is forgotten with the response, read or not."""

    def __init__(self, capsule: Packed) -> None:
        self._capsule = capsule

    def close(self) -> None:
        """Forget it."""
        self._capsule.close()


class _Body(_Made):
    """The bytes for a server that waits."""

    def __iter__(self) -> Iterator[bytes]:
        return (chunk for chunk in self._capsule.chunks() if chunk)


class _AsyncBody(_Made):
    """The bytes, read in a thread. It must not be iterable as well: Django would read it whole."""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        chunks, loop = self._capsule.chunks(), asyncio.get_running_loop()
        while (chunk := await loop.run_in_executor(_threads, _next, chunks)) is not None:
            if chunk:
                yield chunk


def _next(chunks: Iterator[bytes]) -> bytes | None:
    """The next chunk; the thread's connection is given back before the chunk is sent."""
    try:
        return next(chunks, None)
    finally:
        connections.close_all()
