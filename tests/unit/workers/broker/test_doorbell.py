"""Doorbells that are sent, as a worker's connection reads them."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from structlog.contextvars import bound_contextvars

from workers.broker import doorbell, receivers, trace_ids
from workers.broker.own_queue import KEPT_SECONDS
from workers.celery import app


@pytest.fixture
def queue() -> Iterator[str]:
    name = f"doorbell-{uuid4()}"
    yield name
    with app.producer_pool.acquire() as producer, producer.channel.conn_or_acquire() as client:
        client.delete(name)


def take(queue: str) -> bytes:
    """The oldest message of the queue, as it lies there."""
    with app.producer_pool.acquire() as producer, producer.channel.conn_or_acquire() as client:
        return bytes(client.rpop(queue))


def args_of(message: dict[str, Any]) -> Any:
    return json.loads(base64.b64decode(message["body"]))[0]


def test_a_ring_is_counted_and_read_as_a_plain_message(queue: str) -> None:
    thread = uuid4()
    with bound_contextvars(**{trace_ids.NAME: "req-7"}):
        assert receivers.ring(thread_id=thread, queue=queue)
    assert receivers.rings_waiting(queue) == 1
    sent = take(queue)
    assert receivers.rings_waiting(queue) == 0
    plain = json.loads(doorbell.read(sent, queue) or "")
    assert args_of(plain) == args_of(json.loads(sent)) == [str(thread)]
    assert set(plain["headers"]) == {"lang", "task", "id", "root_id", trace_ids.HEADER}
    assert plain["headers"][trace_ids.HEADER] == "req-7"
    assert plain["properties"]["delivery_info"] == {"exchange": "", "routing_key": queue}


def test_no_option_of_a_sender_reaches_the_worker(queue: str) -> None:
    forged = {"time_limit": 0.001, "countdown": 3600, "reply_to": "x", "priority": 9}
    app.send_task(doorbell.TASK, args=[str(uuid4())], queue=queue, **forged)
    sent = take(f"{queue}\x06\x169")
    plain = json.loads(doorbell.read(sent, f"{queue}\x06\x169") or "")
    assert set(plain["headers"]) == {"lang", "task", "id", "root_id"}
    assert plain["properties"]["priority"] == 0
    assert "reply_to" not in plain["properties"]
    assert plain["headers"]["id"] != json.loads(sent)["headers"]["id"]


def test_a_ring_for_one_worker_is_not_heard_too_late() -> None:
    worker = f"worker:host:{uuid4()}"
    assert receivers.ring_at(worker, thread_id=uuid4())
    name = f"gatepost.canary.{worker.partition(':')[2]}"
    with app.producer_pool.acquire() as producer, producer.channel.conn_or_acquire() as client:
        assert 0 < client.pttl(name) <= KEPT_SECONDS * 1_000, "it stays when its worker is gone"
    sent = json.loads(take(name))
    until = datetime.fromisoformat(sent["headers"]["expires"]) - datetime.now(UTC)
    assert timedelta() < until <= timedelta(seconds=receivers.RING_KEPT_SECONDS)
    assert doorbell.read(json.dumps(sent).encode(), name) is not None
    sent["headers"]["expires"] = "2020-01-01T00:00:00+00:00"
    assert doorbell.read(json.dumps(sent).encode(), name) is None
