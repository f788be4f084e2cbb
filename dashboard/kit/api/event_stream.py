"""A thread's events as a stream (server-sent events): what is there, then each as it is committed.

    GET /api/v1/threads/{id}/events/   Accept: text/event-stream, Last-Event-ID: 41

The id of each message is the event's sequence number, so a client that reconnects continues without
a gap. A stream holds no thread and no database connection while it waits.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import InterfaceError, OperationalError
from django.http import StreamingHttpResponse
from rest_framework.renderers import JSONRenderer

from checkpoints import queries
from checkpoints.errors import NotFound
from checkpoints.views import EventRow
from dashboard.documents.answer_json import json_value
from dashboard.identity import senders
from dashboard.live import process
from dashboard.live.followers import wait_for_news

log = logging.getLogger(__name__)

MEDIA_TYPE = "text/event-stream"
AT_ONCE = 200
# Proxies close what is silent for long; browsers try again after this many milliseconds.
KEEPALIVE_SECONDS, RETRY_MS = 15.0, 2_000
AFTER_FAILURE_SECONDS = 1.0


class EventStreamRenderer(JSONRenderer):
    """Names the form of a stream; the answer itself is streamed, refusals stay JSON."""

    media_type = MEDIA_TYPE
    format = "sse"


@dataclass(frozen=True, slots=True)
class Followed:
    """One stream's thread and kinds; `headers` identify the reader and are checked repeatedly."""

    thread: UUID
    workspace: UUID
    kinds: Sequence[str]
    headers: senders.Headers


class Ended(Exception):
    """The stream ends; the message says why."""


def event_stream(followed: Followed, after: int) -> StreamingHttpResponse:
    """The response that streams events after a sequence number."""
    response = StreamingHttpResponse(_messages(followed, after), content_type=MEDIA_TYPE)
    response["Cache-Control"] = "no-store"
    response["X-Accel-Buffering"] = "no"  # nginx would collect messages before it sends them
    return response


async def _messages(followed: Followed, seq: int) -> AsyncIterator[bytes]:
    hub = await process.hub()
    began = checked_at = sent_at = time.monotonic()
    yield f"retry: {RETRY_MS}\n\n".encode()
    with hub.followers.follow(followed.thread) as news:
        while time.monotonic() - began < settings.GATEPOST_STREAM_SECONDS:
            news.clear()
            is_due = time.monotonic() - checked_at > hub.recheck_seconds
            try:
                rows = await hub.in_thread(_read, followed, seq, is_due)
            except Ended as end:
                yield _message("closed", {"reason": str(end)})
                return
            except (OperationalError, InterfaceError):
                # The stream stays open: what is committed meanwhile follows without a gap.
                log.warning("A stream of events could not be read; trying again", exc_info=True)
                await asyncio.sleep(AFTER_FAILURE_SECONDS)
                continue
            if is_due:
                checked_at = time.monotonic()
            for row in rows:
                seq = row.seq
                yield _message(row.kind, json_value(row), seq)
            if rows:
                sent_at = time.monotonic()
            if len(rows) == AT_ONCE or await wait_for_news(news, hub.poll_seconds):
                continue
            if time.monotonic() - sent_at > KEEPALIVE_SECONDS:
                sent_at = time.monotonic()
                yield b": still here\n\n"


@process.tidy
def _read(followed: Followed, seq: int, check: bool) -> list[EventRow]:
    """The next events; with `check` the right to see them is looked at first. Raises Ended."""
    if check:
        actor = senders.sender(followed.headers)
        if actor is None or actor.workspace != followed.workspace or not actor.roles:
            raise Ended("You are signed out, or may no longer see this thread.")
    try:
        queries.thread(followed.thread, workspace=followed.workspace)
    except NotFound:
        raise Ended("The thread is gone.") from None
    return queries.events_after(followed.thread, seq, limit=AT_ONCE, kinds=followed.kinds)


def _message(name: str, data: Any, seq: int | None = None) -> bytes:
    number = "" if seq is None else f"id: {seq}\n"
    # JSON of one line: a line break would end the field.
    return f"{number}event: {name}\ndata: {json.dumps(data)}\n\n".encode()
