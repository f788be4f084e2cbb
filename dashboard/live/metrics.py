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
from collections.abc import Iterable, Iterator

import redis
from django.conf import settings
from django.db import DatabaseError, InterfaceError
from prometheus_client import CollectorRegistry, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from psycopg_pool import PoolTimeout

from approvals import figures as approval_figures
from approvals.anchors import sender
from approvals.notify import queries as news
from checkpoints import queries
from checkpoints.anchors.destinations import standings
from checkpoints.hot.persistence import faults, read_persistence
from checkpoints.hot.streams import HotStoreAway, Lag, whole_lag
from checkpoints.queries.installation import figures as thread_figures
from checkpoints.queries.installation.event_feed import export_figures
from workers.language.embeddings import model_name
from workers.tracing.exporter import NAME as SPAN_EXPORT

from . import process as live
from .frames import Outbox

log = logging.getLogger(__name__)

KEPT_SECONDS = 1.0
HOT_STORE_UP = "Whether the hot store answers."
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


def _counter(name: str, text: str, value: float) -> CounterMetricFamily:
    return CounterMetricFamily(f"gatepost_{name}", text, value=value)


def _gauges(
    name: str, text: str, label: str, values: Iterable[tuple[str, float]]
) -> GaugeMetricFamily:
    """A gauge with one value for each word of its label."""
    gauge = GaugeMetricFamily(f"gatepost_{name}", text, labels=[label])
    for word, value in values:
        gauge.add_metric([word], value)
    return gauge


def _installation() -> Iterator[Metric]:
    threads = thread_figures.figures()
    yield from _threads(threads)
    yield from _workers(threads)
    yield from _delays(threads, _hot_lag())
    yield from _approvals(approval_figures.figures())
    yield from _outbox(news.lag())
    yield from _verification(threads)
    yield from _anchors()
    yield from _spans()
    yield from _vectors()


def _threads(figures: thread_figures.Figures) -> Iterator[Metric]:
    yield _gauges(
        "threads",
        "Threads by status; up to 10,001 per workspace.",
        "status",
        ((str(status), n) for status, n in sorted(figures.statuses.items())),
    )
    yield _gauges(
        "queue_threads",
        "Threads that wait for a worker, up to 10,001.",
        "queue",
        ((queue.queue, queue.threads) for queue in figures.queues),
    )
    yield _gauges(
        "queue_oldest_seconds",
        "How long the first thread of the queue has been waiting.",
        "queue",
        ((queue.queue, queue.oldest_seconds) for queue in figures.queues),
    )
    yield _gauges(
        "queue_working_threads",
        "Threads that a worker has begun and not left, up to 10,001 per workspace and status.",
        "queue",
        ((queue.queue, queue.working) for queue in figures.queues),
    )


def _workers(figures: thread_figures.Figures) -> Iterator[Metric]:
    yield _counter(
        "lease_takeovers",
        "Leases that ran out and were taken over, up to 100,000.",
        figures.takeovers,
    )
    yield _counter(
        "steps_fenced",
        "Steps refused because their worker had lost its lease, up to 100,000.",
        figures.fenced,
    )
    yield _counter(
        "step_losses",
        "Times that the hot store lost steps which were not in the database yet, up to 100,000.",
        figures.losses,
    )
    yield _gauge("workers", "Workers that lately answered their canary.", figures.workers)
    yield _gauge("worker_slots", "Slots of those workers.", figures.slots)
    yield _counter(
        "messages_refused",
        "Messages in the queues of workers that are no doorbell, dropped unread.",
        figures.messages_refused,
    )


def _delays(figures: thread_figures.Figures, lag: Lag | None) -> Iterator[Metric]:
    """Delays of background work: the sweep, timers, readers, buffered input."""
    if figures.unswept_seconds is not None:
        yield _gauge(
            "sweep_overdue_seconds",
            "How long no worker has been sweeping.",
            figures.unswept_seconds,
        )
    yield _gauge(
        "sweep_rows_set_aside",
        "Due rows that failed in the sweep and are tried again later, up to 10,000.",
        figures.rows_set_aside,
    )
    yield _gauge(
        "timer_late_seconds", "How late the most overdue timer is.", figures.timer_late_seconds
    )
    yield _gauge(
        "reading_horizon_seconds",
        "How far readers across threads stay behind: age of the first event that they may not see.",
        figures.horizon_seconds,
    )
    yield _gauges(
        "drain_lag_seconds",
        "Age of the oldest entry that was accepted and is not yet part of its working thread.",
        "buffer",
        [("input", figures.undrained_seconds), *([("hot", lag.seconds)] if lag else [])],
    )
    if lag is not None:
        yield _gauge("hot_steps", "Steps that wait in the hot store.", lag.entries)


def _hot_lag() -> Lag | None:
    """The lag of the hot store; None while it does not answer."""
    try:
        return whole_lag()
    except HotStoreAway:
        return None


def _approvals(figures: approval_figures.ApprovalFigures) -> Iterator[Metric]:
    yield _gauge("approvals_waiting", "Requests for approval that are open.", figures.waiting)
    yield _gauge(
        "approvals_oldest_seconds", "Age of the oldest open request.", figures.oldest_seconds
    )
    decided = CounterMetricFamily(
        "gatepost_decisions", "Decisions by verdict, up to 100,000 each.", labels=["verdict"]
    )
    for verdict, n in sorted(figures.decided.items()):
        decided.add_metric([verdict], n)
    yield decided


def _outbox(lag: news.Lag) -> Iterator[Metric]:
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


def _verification(figures: thread_figures.Figures) -> Iterator[Metric]:
    yield _gauge("records_damaged", "Records that a verification found damaged.", figures.damaged)
    yield _gauge(
        "verification_age_seconds",
        "How long ago everything was last verified; of several workspaces the longest.",
        figures.unverified_seconds,
    )


def _anchors() -> Iterator[Metric]:
    """Age of the last confirmed anchor of each destination; nothing where none go out."""
    names = [one.name for one in settings.GATEPOST_ANCHORS]
    if not names:
        return
    yield _gauges(
        "anchor_age_seconds",
        "How long ago a destination has last confirmed an anchor.",
        "destination",
        ((row.name, row.gap_seconds) for row in standings(names)),
    )
    late = len(sender.late())
    yield _gauge("anchors_late", "Destinations without new anchors, or without all events.", late)


def _vectors() -> Iterator[Metric]:
    """Of memories that are found by meaning; nothing where no model is configured."""
    if not (model := model_name()):
        return
    progress = queries.vector_progress(model)
    yield _gauge("memories", "Memories that are kept.", progress.memories)
    yield _gauge("memories_waiting", "Memories that wait for their vector.", progress.waiting)


def _spans() -> Iterator[Metric]:
    """Of the export of spans, once there was one."""
    exported = export_figures(SPAN_EXPORT)
    if exported is None:
        return
    yield _counter("spans_sent", "Spans that the collector took.", exported.sent)
    yield _counter("spans_dropped", "Spans that it did not take for too long.", exported.dropped)
    yield _gauge(
        "spans_lag_seconds", "Age of the first event without a span.", exported.lag_seconds
    )


class HotStore:
    """Metrics of the hot store, asked with each reading; without an answer the first one alone."""

    def collect(self) -> Iterator[Metric]:
        """Called by the registry."""
        try:
            persistence = read_persistence(timeout=1.0)
        except (redis.RedisError, OSError):
            yield _gauge("hot_store_up", HOT_STORE_UP, 0)
            return
        yield _gauge("hot_store_up", HOT_STORE_UP, 1)
        used = "Memory that the hot store uses."
        yield _gauge("hot_store_used_bytes", used, persistence.used_bytes)
        limit = "Memory that the hot store may use; 0 is no limit."
        yield _gauge("hot_store_limit_bytes", limit, persistence.limit_bytes)
        text = "Faults of the hot store for which hot agents are refused."
        # Asked only where the answer depends on it: a reading is a few statements.
        may_lose = persistence.appendfsync == "everysec" and _may_lose_seconds()
        result = faults(persistence, may_lose_seconds=may_lose)
        yield _gauge("hot_store_faults", text, sum(fault.refuses for fault in result))


def _may_lose_seconds() -> bool:
    """As the hot agents chose; False while the database does not say."""
    try:
        return queries.may_lose_seconds(queries.hot_agents())
    except (DatabaseError, InterfaceError, PoolTimeout):
        return False


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
registry.register(HotStore())
registry.register(Sockets())


def exposition() -> bytes:
    """Everything in Prometheus' text format."""
    return generate_latest(registry)
