"""An answer that waits for news of a thread; meanwhile it holds no thread and no connection."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from uuid import UUID

from django.db import InterfaceError, OperationalError
from django.http import StreamingHttpResponse

from dashboard.live import process
from dashboard.live.followers import wait_for_news

WAIT_MAX = 60


def answer_after(
    thread_id: UUID, *, seconds: float, is_due: Callable[[], bool], body: Callable[[], bytes]
) -> StreamingHttpResponse:
    """JSON that `body` makes as soon as `is_due` says so, at the latest in `seconds`.

    Both read the database, each in a short turn of a thread.
    """
    messages = _after(thread_id, seconds, process.tidy(is_due), process.tidy(body))
    response = StreamingHttpResponse(messages, content_type="application/json")
    response["Cache-Control"] = "no-store"
    return response


async def _after(
    thread_id: UUID, seconds: float, is_due: Callable[[], bool], body: Callable[[], bytes]
) -> AsyncIterator[bytes]:
    hub = await process.hub()
    until = time.monotonic() + seconds
    with hub.followers.follow(thread_id) as news:
        while (left := until - time.monotonic()) > 0:
            news.clear()
            try:
                if await hub.in_thread(is_due):
                    break
            except (OperationalError, InterfaceError):
                await asyncio.sleep(min(left, 1.0))
                continue
            await wait_for_news(news, min(left, hub.poll_seconds))
    yield await hub.in_thread(body)
