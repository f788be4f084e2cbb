"""The doorbell is the message that Celery itself would send."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.conf import settings
from kombu.exceptions import OperationalError
from redis import Redis

from workers import receivers
from workers.celery import app

THREAD = UUID("01936b2e-0000-7000-8000-000000000001")


@pytest.fixture
def queue() -> Iterator[str]:
    name = f"doorbell-{uuid4()}"
    yield name
    with Redis.from_url(settings.REDIS_URL) as valkey:
        valkey.delete(name)


def taken(queue: str) -> dict[str, Any]:
    """The oldest message of a queue."""
    with Redis.from_url(settings.REDIS_URL) as valkey:
        found: dict[str, Any] = json.loads(valkey.rpop(queue))
    found["body"] = json.loads(base64.b64decode(found["body"]))
    return found


def test_it_is_what_send_task_would_send(queue: str) -> None:
    assert receivers.ring(thread_id=THREAD, queue=queue) is True
    app.send_task(
        "gatepost.advance", args=[str(THREAD)], queue=queue, retry=False, ignore_result=True
    )
    assert receivers.rings_waiting(queue) == 2
    ours, theirs = taken(queue), taken(queue)
    for found in (ours, theirs):
        headers, properties = found["headers"], found["properties"]
        assert headers["id"] == headers["root_id"] == properties["correlation_id"]
        for name in ("id", "root_id"):
            assert UUID(headers.pop(name))
        for name in ("correlation_id", "reply_to", "delivery_tag"):
            assert UUID(properties.pop(name))
    assert ours == theirs


def test_no_two_are_alike(queue: str) -> None:
    for _ in range(2):
        receivers.ring(thread_id=THREAD, queue=queue)
    first, second = taken(queue), taken(queue)
    assert first["headers"]["id"] != second["headers"]["id"]
    assert first["properties"]["delivery_tag"] != second["properties"]["delivery_tag"]


def test_a_broker_that_is_away_fails_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def away(queue: str, text: str) -> None:
        raise OperationalError("no such socket")

    monkeypatch.setattr(receivers, "send", away)
    assert receivers.ring(thread_id=THREAD, queue="any") is False
