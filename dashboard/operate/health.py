"""Can this process do its work: one look at each part, bounded in time, shared by all who ask."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import redis
from django.conf import settings
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from redis.backoff import NoBackoff
from redis.retry import Retry

from checkpoints import queries
from checkpoints.views import WorkerRow
from dashboard.operate.migration_history import missing_former
from dashboard.wire.valkey import client
from dashboard.wording.text import span

log = logging.getLogger(__name__)

PATIENCE_SECONDS = 2.0  # for all parts together: they are asked side by side
KEPT_SECONDS = 1.0  # a flood of questions costs one look a second
PARTS = ("database", "migrations", "valkey", "worker")
CLOCK_STEP_SECONDS = 3600.0  # for so long a step of the clock is reported
type Look = dict[str, Any]
"""{part: whether it is up}, and "notes": sentences."""


@dataclass(frozen=True, slots=True)
class Health:
    """Which parts are up, in the order of PARTS, and what else the reader should know."""

    parts: dict[str, bool]
    notes: tuple[str, ...] = ()

    @property
    def ready(self) -> bool:
        """True if requests should come here."""
        return all(self.parts.values())


@contextmanager
def _own_connection() -> Iterator[None]:
    try:
        yield
    finally:
        connection.close()


def database() -> Look:
    """The database answers; its tables are those of this code; a worker did a canary lately."""
    with _own_connection():
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
        look: Look = {"database": True, "migrations": migrated(), "worker": False}
        # Without its tables nobody knows of workers.
        if look["migrations"]:
            workers = queries.workers()
            look["worker"] = any(worker.alive for worker in workers)
            look["notes"] = (*_lost(workers), *_clock_steps())
        return look


def _lost(workers: Sequence[WorkerRow]) -> Iterator[str]:
    """Explain why no worker counts; names are left out for strangers."""
    if workers and not any(worker.alive for worker in workers):
        last = max(worker.seen_at for worker in workers)
        yield f"No worker gives a sign of life; the last one came at {last:%H:%M:%S} UTC."


def _clock_steps() -> Iterator[str]:
    for step in queries.clock_steps(seconds=CLOCK_STEP_SECONDS)[:1]:
        yield f"The database's clock went back by {span(step.by)}, {span(step.ago)} ago."


def valkey() -> Look:
    """Valkey answers."""
    return {"valkey": bool(_client(settings.REDIS_URL).ping())}


@lru_cache(maxsize=4)
def _client(url: str) -> redis.Redis:
    # A connection of before a restart of the server fails once; the second try opens a new one.
    return client(
        url, socket_connect_timeout=1, socket_timeout=1, retry=Retry(NoBackoff(), 1), protocol=2
    )


_migrated = False


def migrated() -> bool:
    """True if every migration of this code has been applied; once true it stays so."""
    global _migrated
    if not _migrated and not missing_former(connection):
        executor = MigrationExecutor(connection)
        _migrated = not executor.migration_plan(executor.loader.graph.leaf_nodes())
    return _migrated


class Watch:
    """Looks at most once a second and never twice at a part that has not answered yet."""

    def __init__(self, *looks: Callable[[], Look]) -> None:
        self._looks = looks
        self._lock = threading.Lock()
        self._threads = ThreadPoolExecutor(len(looks), thread_name_prefix="health")
        self._pending: dict[Callable[[], Look], Future[Look]] = {}
        self._last: Health | None = None
        self._at = 0.0

    def look(self) -> Health:
        """The parts as they are now, or were less than a second ago."""
        with self._lock:
            if self._last is None or time.monotonic() - self._at > KEPT_SECONDS:
                former, self._last = self._last, self._fresh()
                self._at = time.monotonic()
                self._log_change(former, self._last)
            return self._last

    def _fresh(self) -> Health:
        for look in self._looks:
            going = self._pending.get(look)
            if going is None or going.done():
                self._pending[look] = self._threads.submit(look)
        wait(self._pending.values(), timeout=PATIENCE_SECONDS)
        result: Look = dict.fromkeys(PARTS, False)
        for going in self._pending.values():
            if going.done() and (error := going.exception()) is None:
                result |= going.result()
            elif going.done():
                log.debug("A part is down: %s", error)
        notes = result.pop("notes", ())
        return Health(result, notes)

    def _log_change(self, former: Health | None, now: Health) -> None:
        for name, up in now.parts.items():
            before = True if former is None else former.parts[name]
            if up is not before:
                log.warning("readyz: %s is %s", name, "up again" if up else "down")


watch = Watch(database, valkey)
