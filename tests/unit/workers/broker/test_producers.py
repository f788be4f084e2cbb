"""What a message costs the broker and its client."""

from __future__ import annotations

import base64
import json
import sys
from statistics import median
from types import FrameType
from typing import Any
from uuid import uuid4

import pytest
from django.conf import settings
from redis import Redis

from workers.broker import doorbell
from workers.broker.producers import count_messages, send, send_first
from workers.broker.transport import BellChannel
from workers.celery import app

MESSAGES = 20
# Of Python and of C; a change may only make it smaller. 450 alone, 506 among the whole suite.
CALLS = 510


@pytest.fixture
def queue() -> str:
    name = f"messages-{uuid4()}"
    assert send("workers.tasks.advance", "first", queue=name)  # connects, and declares the queue
    return name


def commands() -> int:
    with Redis.from_url(settings.REDIS_URL) as client:
        stats: Any = client.info("stats")
    return int(stats["total_commands_processed"])


def test_messages_share_one_client(queue: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Redis] = []
    make = Redis.__init__

    def counted(client: Redis, *args: Any, **options: Any) -> None:
        made.append(client)
        make(client, *args, **options)

    monkeypatch.setattr(Redis, "__init__", counted)
    for n in range(MESSAGES):
        assert send("workers.tasks.advance", str(n), queue=queue)
    assert made == []
    assert count_messages(queue) == MESSAGES + 1


def test_a_lost_pool_takes_its_client_with_it(queue: str) -> None:
    with app.producer_pool.acquire(block=True) as producer:
        channel = producer.channel
        with channel.conn_or_acquire() as first, channel.conn_or_acquire() as second:
            assert first is second
        channel._disconnect_pools()
        with channel.conn_or_acquire() as third:
            assert third is not first
            assert third.connection_pool is channel.pool
    assert send("workers.tasks.advance", "after", queue=queue)
    assert count_messages(queue) == 2


def test_a_message_can_be_taken_before_all_others(queue: str) -> None:
    thread = str(uuid4())
    assert send_first(doorbell.TASK, thread, queue=queue)
    assert count_messages(queue) == 2
    with Redis.from_url(settings.REDIS_URL) as client:
        text: Any = client.rpop(queue)  # as workers take it
    assert thread in str(base64.b64decode(json.loads(text)["body"]))
    assert doorbell.read(text, queue) is not None


def test_a_message_is_one_round_trip(queue: str) -> None:
    nothing = commands()
    nothing = commands() - nothing  # what asking costs
    before = commands()
    for n in range(MESSAGES):
        assert send("workers.tasks.advance", str(n), queue=queue)
    assert commands() - before - nothing == MESSAGES


def test_a_message_costs_no_look_at_routes_and_options(queue: str) -> None:
    """What does not depend on the machine: the functions that one message calls.

    The median of them: a producer that was lost before connects anew once.
    """
    calls, counts = 0, []

    def counted(_frame: FrameType, event: str, _arg: Any) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(counted)
    try:
        for n in range(MESSAGES):
            before = calls
            assert send("workers.tasks.advance", str(n), queue=queue)
            counts.append(calls - before)
    finally:
        sys.setprofile(None)
    assert median(counts) <= CALLS, counts


def test_what_sends_takes_other_answers_than_doorbells() -> None:
    """`celery inspect` asks by such a connection; the answers are messages of another form."""
    with app.pool.acquire(block=True) as connection:
        assert not isinstance(connection.default_channel, BellChannel)
        with connection.SimpleQueue(f"answers-{uuid4()}") as answers:
            answers.put({"ok": "pong"})
            assert answers.get(timeout=5).payload == {"ok": "pong"}
