"""News from below: a queued thread rings a doorbell; a lost ring is made good by the sweep."""

from __future__ import annotations

from typing import Any
from uuid import UUID
from weakref import WeakKeyDictionary

import structlog
from django.dispatch import receiver

from approvals.signals import decision_told
from checkpoints.signals import thread_queued

from . import tracing
from .doorbell import TASK, letter

RING_KEPT_SECONDS = 5.0

log = structlog.get_logger("gatepost.doorbell")


@receiver(thread_queued, dispatch_uid="workers.doorbell")
@receiver(decision_told, dispatch_uid="workers.doorbell.told")
def ring(*, thread_id: UUID, queue: str, **_kwargs: Any) -> bool:
    """Send the id to the queue; False: the broker is away, which may never fail a commit."""
    app, away = _broker()
    try:
        with app.producer_pool.acquire(block=True) as producer:
            _client(producer.channel).lpush(queue, letter(thread_id, queue, tracing.headers()))
    except away as error:
        log.warning("doorbell.lost", thread=str(thread_id), error=type(error).__name__)
        return False
    return True


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
        with app.producer_pool.acquire(block=True) as producer:
            return int(_client(producer.channel).llen(queue))
    except away:
        return 0


_clients: WeakKeyDictionary[Any, tuple[Any, Any]] = WeakKeyDictionary()  # channel: (pool, client)


def _client(channel: Any) -> Any:
    """A client on the channel's connections; kombu makes one for each call, as long as the call."""
    pool = channel.pool
    kept = _clients.get(channel)
    if kept is None or kept[0] is not pool:
        with channel.conn_or_acquire() as client:
            kept = _clients[channel] = (pool, client)
    return kept[1]


def _broker() -> tuple[Any, tuple[type[Exception], ...]]:
    """(the Celery application, what it raises while the broker is away).

    Imported when the first bell rings: most commands read only, and half of their start was this.
    """
    from kombu.exceptions import OperationalError
    from redis.exceptions import RedisError

    from .celery import app

    return app, (OperationalError, RedisError, OSError)
