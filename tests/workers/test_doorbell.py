"""A doorbell written by hand is the message that Celery would have sent."""

from __future__ import annotations

import base64
import json
from typing import Any
from uuid import uuid4

import pytest

from workers import receivers
from workers.celery import app

QUEUE = f"doorbell-{uuid4()}"
ONE_OF_ITS_OWN = {"id", "root_id", "correlation_id", "delivery_tag", "reply_to"}


def taken() -> dict[str, Any]:
    """The oldest message of the queue, as it lies there."""
    with app.producer_pool.acquire() as producer, producer.channel.conn_or_acquire() as broker:
        found: dict[str, Any] = json.loads(broker.rpop(QUEUE))
    found["body"] = json.loads(base64.b64decode(found["body"]))
    return found


def alike(message: dict[str, Any]) -> dict[str, Any]:
    """The message without what is another one in each."""
    for part in ("headers", "properties"):
        message[part] = {k: v for k, v in message[part].items() if k not in ONE_OF_ITS_OWN}
    return message


def test_it_is_what_celery_would_send() -> None:
    thread = uuid4()
    app.send_task("gatepost.advance", args=[str(thread)], queue=QUEUE, ignore_result=True)
    assert receivers.ring(thread_id=thread, queue=QUEUE)
    assert receivers.rings_waiting(QUEUE) == 2
    theirs, ours = taken(), taken()
    assert theirs["body"][0] == [str(thread)]
    own = ours["headers"]["id"]
    assert own == ours["headers"]["root_id"] == ours["properties"]["correlation_id"]
    # Celery's default exchange has the name of the default queue; a doorbell takes the direct way.
    for message in (theirs, ours):
        assert message["properties"]["delivery_info"].pop("routing_key") == QUEUE
        message["properties"]["delivery_info"].pop("exchange")
    assert alike(ours) == alike(theirs)
    assert receivers.rings_waiting(QUEUE) == 0


@pytest.mark.parametrize("times", [1, 3])
def test_each_is_a_message_of_its_own(times: int) -> None:
    thread = uuid4()
    for _ in range(times):
        receivers.ring(thread_id=thread, queue=QUEUE)
    found = [taken() for _ in range(times)]
    assert len({message["headers"]["id"] for message in found}) == times
    assert len({message["properties"]["delivery_tag"] for message in found}) == times


def test_one_that_rings_before_a_commit_says_so_and_waits_for_no_answer() -> None:
    thread = uuid4()
    arrived = receivers.ring_ahead(thread_id=thread, queue=QUEUE)
    assert arrived()
    assert arrived()  # asked again, it says the same
    ahead = taken()
    assert ahead["headers"].pop("gatepost_ahead") is True
    receivers.ring(thread_id=thread, queue=QUEUE)
    ours = taken()
    assert ahead["body"] == ours["body"]
    assert alike(ahead) == alike(ours)


def test_answers_are_read_by_whoever_sent() -> None:
    """A connection whose answer was not read would give it to the next command."""
    sent = [receivers.ring_ahead(thread_id=uuid4(), queue=QUEUE) for _ in range(3)]
    assert receivers.rings_waiting(QUEUE) == 3
    assert [arrived() for arrived in reversed(sent)] == [True] * 3
    assert receivers.rings_waiting(QUEUE) == 3
    assert len({taken()["headers"]["id"] for _ in range(3)}) == 3


def test_a_broker_that_is_away_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    from redis import Redis

    away = Redis(port=1)
    monkeypatch.setattr(receivers, "_client", lambda _app: away)
    arrived = receivers.ring_ahead(thread_id=uuid4(), queue=QUEUE)
    assert not arrived()
    assert not arrived()


def test_a_broker_that_goes_before_it_answers_is_no_error() -> None:
    arrived = receivers.ring_ahead(thread_id=uuid4(), queue=QUEUE)
    sent = arrived.__self__  # type: ignore[attr-defined]
    sent._link._sock.close()
    assert not arrived()
    assert receivers.ring(thread_id=uuid4(), queue=QUEUE)
    while receivers.rings_waiting(QUEUE):
        taken()
