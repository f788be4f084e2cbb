"""A doorbell written by hand is the message that Celery would have sent."""

from __future__ import annotations

import base64
import json
from typing import Any
from uuid import uuid4

import pytest

from workers.broker import receivers
from workers.broker.doorbell import letter
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


@pytest.mark.parametrize("queue", [f'o"dd\\{uuid4()}', "body", "\u00fcber"])
@pytest.mark.parametrize("headers", [{}, {"a": True, "b": 'x"y'}])
def test_whatever_the_queue_and_the_headers(queue: str, headers: dict[str, Any]) -> None:
    thread = uuid4()
    found = json.loads(letter(thread, queue, headers))
    assert found["properties"]["delivery_info"]["routing_key"] == queue
    assert {k: found["headers"][k] for k in headers} == headers
    assert found["headers"]["argsrepr"] == f"['{thread}']"
    assert json.loads(base64.b64decode(found["body"]))[0] == [str(thread)]
    plain = json.loads(letter(thread, queue, {}))
    assert found["headers"].keys() == plain["headers"].keys() | headers.keys()
