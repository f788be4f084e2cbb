"""A capsule or an export as a download: made first, then streamed; page and API answer alike."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Protocol

from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, StreamingHttpResponse

MEDIA_TYPE = "application/zip"


class Packed(Protocol):
    """A zip file that gives its bytes once."""

    @property
    def name(self) -> str: ...
    def chunks(self) -> Iterator[bytes]: ...
    def close(self) -> None: ...


def download(request: HttpRequest, capsule: Packed, **headers: str) -> StreamingHttpResponse:
    """An attachment; nothing of it lies in memory but one chunk."""
    body = _AsyncBody(capsule) if isinstance(request, ASGIRequest) else _Body(capsule)
    response = StreamingHttpResponse(body, content_type=MEDIA_TYPE)
    # The name is made of an agent's name and an id: nothing in it needs quoting.
    response["Content-Disposition"] = f'attachment; filename="{capsule.name}"'
    response["X-Content-Type-Options"] = "nosniff"
    response["Cache-Control"] = "no-store"
    for name, value in headers.items():
        response[name] = value
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
        chunks = self._capsule.chunks()
        while (chunk := await asyncio.to_thread(next, chunks, None)) is not None:
            if chunk:
                yield chunk
