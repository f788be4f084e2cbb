"""Send messages through the producers that Celery keeps; a broker that is away holds nobody.

A message is a hint. What is lost is sent again by the sweep, so nothing here tries twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import structlog

from . import doorbell

if TYPE_CHECKING:
    from kombu.entity import Queue

# How long to wait for a free producer; all are busy only while the broker is slow.
PRODUCER_SECONDS = 0.2

log = structlog.get_logger("gatepost.doorbell")


def send(task: str, name: str, *, queue: str | Queue, expires: float | None = None) -> bool:
    """Send a doorbell with one argument; False and a log line while the broker is away.

    A queue that is not only named is declared first: the broker shall forget it again.

    By the producer alone: `send_task` would look up routes, options and texts for people anew, all
    of which the worker drops.
    """
    app, away = _broker()
    try:
        with _producer(app) as producer:
            producer.publish(
                doorbell.body(name),
                headers=doorbell.headers(task, expires=expires),
                exchange="",
                routing_key=str(getattr(queue, "name", queue)),
                declare=None if isinstance(queue, str) else [queue],
                serializer="json",
                retry=False,
            )
    except away as error:
        log.warning("doorbell.lost", task=task, name=name, error=type(error).__name__)
        return False
    return True


def send_first(task: str, name: str, *, queue: str) -> bool:
    """Send a doorbell that is taken before all others; False while the broker is away.

    By the key of the queue, since kombu knows no way to the front.
    """
    app, away = _broker()
    try:
        with _producer(app) as producer, producer.channel.conn_or_acquire() as client:
            client.rpush(queue, doorbell.plain(task, name, queue))
    except away as error:
        log.warning("doorbell.lost", task=task, name=name, error=type(error).__name__)
        return False
    return True


def count_messages(queue: str) -> int:
    """Count the messages of a queue that nobody has taken yet; 0 also while the broker is away."""
    app, away = _broker()
    try:
        with _producer(app) as producer, producer.channel.conn_or_acquire() as client:
            return int(client.llen(queue))
    except away:
        return 0


@contextmanager
def _producer(app: Any) -> Iterator[Any]:
    producer = app.producer_pool.acquire(block=True, timeout=PRODUCER_SECONDS)
    try:
        yield producer
    finally:
        producer.release()


def _broker() -> tuple[Any, tuple[type[Exception], ...]]:
    """(the Celery application, what it raises while the broker is away).

    Imported with the first message: most commands only read, and this was half of their start.
    """
    from kombu.exceptions import LimitExceeded, OperationalError
    from redis.exceptions import RedisError

    from ..celery import app

    return app, (LimitExceeded, OperationalError, RedisError, OSError)
