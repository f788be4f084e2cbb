"""Frames on their way to one socket: one in flight, behind it at most the newest of each topic."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from functools import cached_property
from json import dumps
from typing import Any

Event = dict[str, Any]
Send = Callable[[Event], Awaitable[None]]


def event_of(message: Mapping[str, Any]) -> Event:
    """The ASGI event that carries `message`; encode once, hand to many sockets."""
    return {"type": "websocket.send", "text": dumps(message, separators=(",", ":"))}


class Frame:
    """News of one topic, encoded once for all sockets.

    `event` carries the regions that changed since the frame before, `whole` all of them: for a
    socket that has not seen that one.
    """

    def __init__(
        self, topic: str, seq: int, changed: Mapping[str, str], regions: Mapping[str, str]
    ) -> None:
        self.topic, self.seq, self.changed, self.regions = topic, seq, changed, regions

    def _encode(self, regions: Mapping[str, str]) -> Event:
        return event_of(
            {"type": "frame", "topic": self.topic, "seq": self.seq, "regions": dict(regions)}
        )

    @cached_property
    def event(self) -> Event:
        """The regions that changed, encoded."""
        return self.whole if len(self.changed) == len(self.regions) else self._encode(self.changed)

    @cached_property
    def whole(self) -> Event:
        """All regions, encoded."""
        return self._encode(self.regions)


class Outbox:
    """Sends without ever making the sender wait; a slow socket skips frames, never reorders them.

    At most one event is in flight and one per key waits, so the memory of a socket that does not
    read is bounded by what it follows.
    """

    all_skipped = 0  # by all outboxes of this process, also those that are gone

    def __init__(self, send: Send, *, broken: Callable[[], None] = lambda: None) -> None:
        self._send = send
        self._broken = broken
        self._flight: asyncio.Task[None] | None = None
        self._waiting: dict[str, Event] = {}
        self.skipped = 0

    def offer(self, key: str, event: Event, *, whole: Callable[[], Event] | None = None) -> None:
        """Send now if the socket is free, else let it wait in place of an older one of its key.

        `whole` gives the event to wait in that case: a part cannot replace what was never sent.
        """
        if self._flight is None:
            self._go(event)
            return
        if self._waiting.pop(key, None) is not None:
            self.skipped += 1
            Outbox.all_skipped += 1
            if whole is not None:
                event = whole()
        self._waiting[key] = event

    def finish(self, events: list[Event]) -> asyncio.Task[None]:
        """Forget what waits, send `events` in order behind what is in flight, and stop."""
        self._waiting.clear()
        flight, self._flight = self._flight, asyncio.current_task()

        async def last() -> None:
            if flight is not None:
                await asyncio.wait([flight])
            for event in events:
                await self._send(event)

        return asyncio.ensure_future(last())

    def _go(self, event: Event) -> None:
        # Begins immediately and is over here unless the socket is full: no hop, no queue.
        task = asyncio.Task(self._one(event), loop=asyncio.get_running_loop(), eager_start=True)
        if not task.done():
            self._flight = task
            task.add_done_callback(self._done)

    async def _one(self, event: Event) -> None:
        try:
            await self._send(event)
        except Exception:  # the socket is gone; whatever it raised, it gets nothing more
            self._waiting.clear()
            self._broken()

    def _done(self, task: asyncio.Task[None]) -> None:
        if self._flight is not task:
            return  # finish() has taken over
        self._flight = None
        if self._waiting and not task.cancelled():
            self._go(self._waiting.pop(next(iter(self._waiting))))
