"""Metrics for Prometheus: of the installation from the database, of this process.

Every process of the web answers with the same figures of the installation; what only it knows
(requests, sockets) carries its name in the label `process`.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
from collections.abc import Iterator

from django.conf import settings
from django.db import DatabaseError, InterfaceError
from prometheus_client import CollectorRegistry, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from psycopg_pool import PoolTimeout

from approvals import figures as approval_figures
from approvals.anchors import sender
from approvals.notify import queries as news
from checkpoints.anchors.destinations import standings
from checkpoints.queries.installation import figures as thread_figures
from checkpoints.queries.installation.event_feed import export_figures
from workers.tracing.exporter import NAME as SPAN_EXPORT

from . import process as live
from .frames import Outbox

log = logging.getLogger(__name__)

KEPT_SECONDS = 1.0
PROCESS = f"{socket.gethostname()}:{os.getpid()}"
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)

registry = CollectorRegistry(auto_describe=False)
_requests = Histogram(
    "gatepost_http_request_seconds",
    "Time to the head of an answer.",
    ("route", "method", "status", "process"),
    buckets=SECONDS,
    registry=registry,
)
METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}


def observe(route: str, method: str, status: int, seconds: float) -> None:
    """Count one answered request; each label has few values, whatever people send."""
    known = method if method in METHODS else "OTHER"
    _requests.labels(route, known, f"{status // 100}xx", PROCESS).observe(seconds)


class Installation:
    """Figures from the database, read at most once a second."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._at = 0.0
        self._metrics: list[Metric] = []

    def collect(self) -> Iterator[Metric]:
        """Called by the registry; a database that is away leaves all but the first one out."""
        with self._lock:
            if not self._metrics or time.monotonic() - self._at > KEPT_SECONDS:
                self._metrics = self._read()
                self._at = time.monotonic()
            yield from self._metrics

    def _read(self) -> list[Metric]:
        up = "Whether the figures could be read from the database."
        try:
            return [_gauge("database_up", up, 1), *_installation()]
        except (DatabaseError, InterfaceError, PoolTimeout) as error:
            log.warning("The figures could not be read: %s", type(error).__name__)
            return [_gauge("database_up", up, 0)]


def _gauge(name: str, text: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"gatepost_{name}", text, value=value)


def _installation() -> Iterator[Metric]:
    result, request = thread_figures.figures(), approval_figures.figures()
    threads = GaugeMetricFamily(
        "gatepost_threads", "Threads by status; up to 10,001 per workspace.", labels=["status"]
    )
    for status, n in sorted(result.statuses.items()):
        threads.add_metric([str(status)], n)
    yield threads
    waiting = GaugeMetricFamily(
        "gatepost_queue_threads", "Threads that wait for a worker, up to 10,001.", labels=["queue"]
    )
    oldest = GaugeMetricFamily(
        "gatepost_queue_oldest_seconds",
        "How long the first thread of the queue has been waiting.",
        labels=["queue"],
    )
    for queue in result.queues:
        waiting.add_metric([queue.queue], queue.threads)
        oldest.add_metric([queue.queue], queue.oldest_seconds)
    yield waiting
    yield oldest
    yield CounterMetricFamily(
        "gatepost_lease_takeovers",
        "Leases that ran out and were taken over, up to 100,000.",
        value=result.takeovers,
    )
    yield CounterMetricFamily(
        "gatepost_steps_fenced",
        "Steps refused because their worker had lost its lease, up to 100,000.",
        value=result.fenced,
    )
    yield _gauge("workers", "Workers that lately answered their canary.", result.workers)
    yield _gauge("worker_slots", "Slots of those workers.", result.slots)
    if result.unswept_seconds is not None:
        yield _gauge(
            "sweep_overdue_seconds", "How long no worker has been sweeping.", result.unswept_seconds
        )
    yield _gauge(
        "timer_late_seconds", "How late the most overdue timer is.", result.timer_late_seconds
    )
    yield _gauge(
        "reading_horizon_seconds",
        "How far readers across threads stay behind: age of the first event that they may not see.",
        result.horizon_seconds,
    )
    undrained = GaugeMetricFamily(
        "gatepost_drain_lag_seconds",
        "Age of the oldest entry that was accepted and is not yet part of its working thread.",
        labels=["buffer"],
    )
    undrained.add_metric(["input"], result.undrained_seconds)
    yield undrained
    yield _gauge("approvals_waiting", "Requests for approval that are open.", request.waiting)
    yield _gauge(
        "approvals_oldest_seconds", "Age of the oldest open request.", request.oldest_seconds
    )
    yield _gauge(
        "sweep_rows_set_aside",
        "Due rows that failed in the sweep and are tried again later, up to 10,000.",
        result.rows_set_aside,
    )
    yield CounterMetricFamily(
        "gatepost_messages_refused",
        "Messages in the queues of workers that are no doorbell, dropped unread.",
        value=result.messages_refused,
    )
    lag = news.lag()
    yield _gauge("outbox_news", "News in the outbox that nobody has taken yet.", lag.news)
    yield _gauge(
        "outbox_lag_seconds", "Age of the oldest news that nobody has taken.", lag.news_seconds
    )
    yield _gauge("deliveries_due", "Messages that should have been sent.", lag.deliveries)
    yield _gauge(
        "deliveries_lag_seconds",
        "How late the most overdue of these messages is.",
        lag.delivery_seconds,
    )
    yield _gauge("deliveries_failed", "Messages given up, up to 10,000.", lag.failed)
    yield _gauge("records_damaged", "Records that a verification found damaged.", result.damaged)
    yield _gauge(
        "verification_age_seconds",
        "How long ago everything was last verified; of several workspaces the longest.",
        result.unverified_seconds,
    )
    yield from _anchors()
    decided = CounterMetricFamily(
        "gatepost_decisions", "Decisions by verdict, up to 100,000 each.", labels=["verdict"]
    )
    for verdict, n in sorted(request.decided.items()):
        decided.add_metric([verdict], n)
    yield decided
    yield from _spans()


def _anchors() -> Iterator[Metric]:
    """Age of the last confirmed anchor of each destination; nothing where none go out."""
    names = [one.name for one in settings.GATEPOST_ANCHORS]
    if not names:
        return
    ages = GaugeMetricFamily(
        "gatepost_anchor_age_seconds",
        "How long ago a destination has last confirmed an anchor.",
        labels=["destination"],
    )
    for row in standings(names):
        ages.add_metric([row.name], row.gap_seconds)
    yield ages
    late = len(sender.late())
    yield _gauge("anchors_late", "Destinations without new anchors, or without all events.", late)


def _spans() -> Iterator[Metric]:
    """Of the export of spans, once there was one."""
    exported = export_figures(SPAN_EXPORT)
    if exported is None:
        return
    yield CounterMetricFamily(
        "gatepost_spans_sent", "Spans that the collector took.", value=exported.sent
    )
    yield CounterMetricFamily(
        "gatepost_spans_dropped", "Spans that it did not take for too long.", value=exported.dropped
    )
    yield _gauge(
        "spans_lag_seconds", "Age of the first event without a span.", exported.lag_seconds
    )


class Sockets:
    """Metrics of this process's hub: its sockets and skipped frames."""

    def collect(self) -> Iterator[Metric]:
        """Called by the registry."""
        sockets = GaugeMetricFamily(
            "gatepost_sockets", "Open pages that are pushed to.", labels=["process"]
        )
        sockets.add_metric([PROCESS], live.sockets())
        yield sockets
        skipped = CounterMetricFamily(
            "gatepost_frames_skipped",
            "Frames that a newer one replaced before a slow socket took them.",
            labels=["process"],
        )
        skipped.add_metric([PROCESS], Outbox.all_skipped)
        yield skipped


registry.register(Installation())
registry.register(Sockets())


def exposition() -> bytes:
    """Everything in Prometheus' text format."""
    return generate_latest(registry)
