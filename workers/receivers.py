"""News from below: a queued thread rings a doorbell; a lost ring is made good by the sweep."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID
from weakref import WeakKeyDictionary

import structlog
from django.dispatch import receiver

from approvals.signals import decision_told
from checkpoints.signals import thread_coming, thread_queued

from . import tracing
from .doorbell import AHEAD, TASK, letter

RING_KEPT_SECONDS = 5.0

log = structlog.get_logger("gatepost.doorbell")


@receiver(thread_queued, dispatch_uid="workers.doorbell")
@receiver(decision_told, dispatch_uid="workers.doorbell.told")
def ring(*, thread_id: UUID, queue: str, **_kwargs: Any) -> bool:
    """Send the id to the queue; False: the broker is away, which may never fail a commit."""
    app, away = _broker()
    try:
        _client(app).lpush(queue, letter(thread_id, queue, tracing.headers()))
    except away as error:
        _clients.clear()
        log.warning("doorbell.lost", thread=str(thread_id), error=type(error).__name__)
        return False
    return True


@receiver(thread_coming, dispatch_uid="workers.doorbell.ahead")
def ring_ahead(*, thread_id: UUID, queue: str, **_kwargs: Any) -> Callable[[], bool]:
    """Send the id before its commit, for which a worker is to wait at the row.

    Nobody waits for the broker here; what comes back does, says what `ring` says, and has to be
    called.
    """
    sent = letter(thread_id, queue, {**tracing.headers(), AHEAD: True})
    return Sent(*_broker(), "LPUSH", queue, sent).arrived


class Sent:
    """A command on its way to the broker, on a connection of its own until it is answered."""

    def __init__(self, app: Any, away: tuple[type[Exception], ...], *command: str) -> None:
        self._away, self._arrived = away, False
        self._pool: Any = None
        try:
            pool = _client(app).connection_pool
            self._link = pool.get_connection()
            self._pool = pool
            self._link.send_command(*command)
        except away as error:
            self._failed(error)

    def arrived(self) -> bool:
        """Whether the broker has it; waits for the answer when it is asked first."""
        if self._pool is not None:
            try:
                self._link.read_response()
                self._arrived = True
                self._end()
            except self._away as error:
                self._failed(error)
        return self._arrived

    def _failed(self, error: Exception) -> None:
        log.warning("doorbell.lost", error=type(error).__name__)
        _clients.clear()
        if self._pool is not None:
            self._link.disconnect()
            self._end()

    def _end(self) -> None:
        pool, self._pool = self._pool, None
        pool.release(self._link)


def ring_at(worker: str, *, thread_id: UUID) -> bool:
    """Send the id to one worker alone; dropped unread when it is busy, the sweep rings again."""
    from .own_queue import own_queue

    app, away = _broker()
    try:
        app.send_task(
            TASK,
            args=[str(thread_id)],
            queue=own_queue(worker),
            expires=RING_KEPT_SECONDS,
            retry=False,
            ignore_result=True,
            headers=tracing.headers(),
        )
    except away as error:
        log.warning("doorbell.lost", thread=str(thread_id), error=type(error).__name__)
        return False
    return True


def rings_waiting(queue: str) -> int:
    """How many doorbells nobody has answered yet; 0 as well when the broker is away."""
    app, away = _broker()
    try:
        return int(_client(app).llen(queue))
    except away:
        _clients.clear()
        return 0


_clients: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()


def _client(app: Any) -> Any:
    """A client on the connections of Celery's producers; kombu makes one for each call.

    Kept as long as these are: a forked process has others, and after an error it is made anew.
    """
    pool = app.producer_pool
    client = _clients.get(pool)
    if client is None:
        with pool.acquire(block=True) as producer, producer.channel.conn_or_acquire() as made:
            client = _clients[pool] = made
    return client


def _broker() -> tuple[Any, tuple[type[Exception], ...]]:
    """(the Celery application, what it raises while the broker is away).

    Imported when the first bell rings: most commands read only, and half of their start was this.
    """
    from kombu.exceptions import OperationalError
    from redis.exceptions import RedisError

    from .celery import app

    return app, (OperationalError, RedisError, OSError)
