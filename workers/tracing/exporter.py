"""Exports spans of committed events: one worker at a time, after the commit, beside every step.

The log is the buffer: what the collector does not take now is read again later, so nothing is kept
in memory but one batch. Spans that it refuses for good are dropped and counted, and those that are
older than LATE_SECONDS as well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from enum import StrEnum
from typing import Final, Protocol

import structlog
from django.utils import timezone

from checkpoints import store
from checkpoints.postgres.background_loop import BackgroundLoop
from checkpoints.queries.installation.event_feed import FeedCursor, FeedEvent, events_after_cursor

from .spans import KINDS, Span, spans_of

log = structlog.get_logger("gatepost.tracing")
NAME: Final = "otlp"
DUTY: Final = "spans"
BATCH: Final = 500
PAUSE_SECONDS: Final = 1.0
LONGEST_PAUSE: Final = 30.0
DUTY_SECONDS: Final = 15.0
# Older spans are dropped when the collector does not take them.
LATE_SECONDS: Final = 3_600.0


class Delivery(StrEnum):
    """The outcome of a batch: the collector took it, refused it for good, or did neither."""

    TAKEN = "taken"
    REFUSED = "refused"
    FAILED = "failed"


class Exporter(Protocol):
    """A destination of spans."""

    def export(self, spans: Sequence[Span]) -> Delivery: ...

    def close(self) -> None: ...


class SpanExporter:
    """One exporter; `turn` once, or `start` for a thread that turns until `stop`.

    Each use of the database happens within a context that `inside` makes.
    """

    def __init__(
        self,
        exporter: Callable[[], Exporter],
        *,
        owner: str,
        inside: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        self._make = exporter
        self._owner = owner
        self._inside = inside
        self._exporter: Exporter | None = None
        self._read = self._failures = 0
        self._loop = BackgroundLoop(
            "spans",
            self._turn,
            log=log,
            pause=self._pause,
            last=self._give_back,
            failed=self._count_failure,
        )

    def start(self) -> None:
        """Begin to turn."""
        self._loop.start()

    def stop(self) -> None:
        """Begin no other batch; one that is not confirmed is exported again by another worker."""
        if self._loop.stop() and self._exporter is not None:
            self._exporter.close()

    def turn(self) -> int:
        """Export one batch, if it is this worker's duty; returns the number of events read."""
        with self._inside():
            if not store.claim_duty(DUTY, owner=self._owner, seconds=DUTY_SECONDS):
                return 0
            cursor = store.begin_export(NAME)
            events = events_after_cursor(cursor, kinds=KINDS, limit=BATCH)
            if self._exporter is None:
                self._exporter = self._make()
        if not events:
            return 0
        spans = _made(events)
        delivery = self._exporter.export(spans) if spans else Delivery.TAKEN
        self._failures = self._failures + 1 if delivery is Delivery.FAILED else 0
        if delivery is Delivery.TAKEN:
            self._move(cursor, events, sent=len(spans), dropped=0)
        elif delivery is Delivery.REFUSED or _age(events[0]) > LATE_SECONDS:
            log.warning("spans.dropped", spans=len(spans), delivery=str(delivery))
            self._move(cursor, events, sent=0, dropped=len(spans))
        else:
            log.warning("spans.not_taken", spans=len(spans), failures=self._failures)
            return 0
        return len(events)

    def _move(
        self, cursor: FeedCursor, events: Sequence[FeedEvent], *, sent: int, dropped: int
    ) -> None:
        with self._inside():
            store.move_export(NAME, cursor, events[-1].cursor, sent=sent, dropped=dropped)

    def _turn(self) -> None:
        self._read = 0
        self._read = self.turn()

    def _count_failure(self) -> None:
        self._failures += 1

    def _give_back(self) -> None:
        with self._inside():
            store.forget_duty(DUTY, owner=self._owner)

    def _pause(self) -> float:
        if self._read == BATCH:
            return 0
        # The exponent is bounded: after a thousand failures the power would be no float.
        return min(PAUSE_SECONDS * 2.0 ** min(self._failures, 10), LONGEST_PAUSE)


def _made(events: Sequence[FeedEvent]) -> list[Span]:
    """Make the spans of these events; an event that a fault of ours makes fail stops no other."""
    spans: list[Span] = []
    for event in events:
        try:
            spans += spans_of(event)
        except (KeyError, TypeError, ValueError):
            log.exception("spans.not_made", thread=str(event.thread), seq=event.seq)
    return spans


def _age(event: FeedEvent) -> float:
    return (timezone.now() - event.at).total_seconds()
