"""Followers of a thread without a socket: streams of events and calls with `?wait=`."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID


class Followers:
    """Tasks that wait for news, by thread; all of one event loop."""

    def __init__(self) -> None:
        self._waiting: dict[UUID, set[asyncio.Event]] = defaultdict(set)

    def __len__(self) -> int:
        return sum(map(len, self._waiting.values()))

    @contextmanager
    def follow(self, thread: UUID) -> Iterator[asyncio.Event]:
        """An event that is set with each piece of news of the thread; its reader clears it."""
        news = asyncio.Event()
        self._waiting[thread].add(news)
        try:
            yield news
        finally:
            self._waiting[thread].discard(news)
            if not self._waiting[thread]:
                del self._waiting[thread]

    def wake(self, thread: UUID) -> None:
        """There is news of this thread."""
        for news in self._waiting.get(thread, ()):
            news.set()


async def wait_for_news(news: asyncio.Event, seconds: float) -> bool:
    """Wait for news; True if it came within this number of seconds."""
    try:
        async with asyncio.timeout(max(0.0, seconds)):
            await news.wait()
    except TimeoutError:
        return False
    return True
