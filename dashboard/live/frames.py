"""Frames on their way to one socket: one in flight, behind it at most the newest of each topic.

A socket that asks for it gets frames deflated: a line of JSON, whose `parts` have the length of
each region, then the regions as one stream of DEFLATE. In front of each the page puts a block of
what this socket was sent of the region before, which so is not sent again; the block is empty where
the length is negative. Of a page that gets one more row, little more than the row is sent.
"""

from __future__ import annotations

import asyncio
import secrets
import zlib
from collections.abc import Awaitable, Callable, Mapping
from functools import cached_property
from json import dumps
from typing import Any

from .marks import region_mark

Event = dict[str, Any]
Send = Callable[[Event], Awaitable[None]]

WINDOW = 32_768  # bytes that DEFLATE can refer to
STORED_MAX = 65_535  # bytes of the block in which a page puts in what it was sent before
END = b"\x03\0"  # an empty last block
PAD_MAX = 64  # spaces at most, so that the length of a frame does not reveal its content (BREACH)


def event_of(message: Mapping[str, Any]) -> Event:
    """The ASGI event that carries `message`; encode once, hand to many sockets."""
    return {"type": "websocket.send", "text": dumps(message, separators=(",", ":"))}


def _ended(html: str) -> bytes:
    return html.replace("\0", "\ufffd").encode(errors="replace") + b"\0"


class Frame:
    """News of one topic, encoded once for all sockets that get the same.

    `changed` are the regions that differ from those of the frame before, the `last`. One of which
    only ages differ stays as it was sent.
    """

    def __init__(
        self, topic: str, seq: int, regions: Mapping[str, str], last: Frame | None = None
    ) -> None:
        self.topic, self.seq = topic, seq
        self.marks = {region: region_mark(html) for region, html in regions.items()}
        before: Mapping[str, str] = last.regions if last else {}
        known = last.marks if last else {}
        self.changed = {r: html for r, html in regions.items() if known.get(r) != self.marks[r]}
        self.regions: dict[str, str] = {r: self.changed.get(r, before.get(r, "")) for r in regions}
        self._base = {region: before[region] for region in self.changed if region in before}
        self._parts: dict[tuple[frozenset[str], bool], Event] = {}

    def part(self, names: frozenset[str], *, deflated: bool) -> Event:
        """Some of the regions, for a socket that was sent none before."""
        key = names, deflated
        if key not in self._parts:
            html = {region: text for region, text in self.regions.items() if region in names}
            self._parts[key] = self._deflate(html, {}) if deflated else self._encode(html)
        return self._parts[key]

    def _encode(self, regions: Mapping[str, str]) -> Event:
        return event_of(
            {"type": "frame", "topic": self.topic, "seq": self.seq, "regions": dict(regions)}
        )

    def _deflate(self, regions: Mapping[str, str], base: Mapping[str, str]) -> Event:
        window, stream, parts = b"", b"", {}
        for region, html in regions.items():
            before, text = _ended(base.get(region, "")), _ended(html)
            known = region in base and len(before) <= STORED_MAX
            window = (window + (before if known else _ended("")))[-WINDOW:]
            deflate = zlib.compressobj(wbits=-zlib.MAX_WBITS, zdict=window)
            part = deflate.compress(text) + deflate.flush(zlib.Z_SYNC_FLUSH)
            parts[region] = len(part) if known else -len(part)
            window, stream = window + text, stream + part
        message = {"type": "frame", "topic": self.topic, "seq": self.seq, "parts": parts}
        line = dumps(message, separators=(",", ":")) + " " * secrets.randbelow(PAD_MAX) + "\n"
        return {"type": "websocket.send", "bytes": line.encode() + stream + END}

    @cached_property
    def event(self) -> Event:
        """The regions that changed, as text."""
        return self.whole if len(self.changed) == len(self.regions) else self._encode(self.changed)

    @property
    def whole(self) -> Event:
        """All regions, as text: for a socket that has not seen the frame before."""
        return self.part(frozenset(self.regions), deflated=False)

    @cached_property
    def deflated(self) -> Event:
        """The regions that changed, for a socket that was sent them as they were before."""
        return self._deflate(self.changed, self._base) if self._base else self.deflated_alone

    @property
    def deflated_alone(self) -> Event:
        """The regions that changed, for a socket whose page brought what they were before."""
        return self.part(frozenset(self.changed), deflated=True)

    @property
    def deflated_whole(self) -> Event:
        """All regions, for a socket that has not seen the frame before."""
        return self.part(frozenset(self.regions), deflated=True)


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
