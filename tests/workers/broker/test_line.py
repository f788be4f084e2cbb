"""Doorbells over one connection: answers are read one later, and none is lost with a broker."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
from redis import Redis
from redis.exceptions import RedisError

from workers.broker import receivers
from workers.broker.connection import Line
from workers.celery import app

AWAY = (RedisError, OSError)


@pytest.fixture
def queue() -> Iterator[str]:
    name = f"line-{uuid4()}"
    yield name
    client().delete(name)


def client() -> Any:
    return receivers._client(app)[0]


def rung(queue: str) -> list[str]:
    return [raw.decode() for raw in client().lrange(queue, 0, -1)]


def test_all_arrive_in_their_order(queue: str) -> None:
    line = Line(client().connection_pool, AWAY)
    assert [line.send("LPUSH", queue, str(number)) for number in range(20)] == [True] * 20
    assert rung(queue)[::-1] == [str(number) for number in range(20)]


def test_a_connection_that_the_broker_closed_is_made_anew(queue: str) -> None:
    """As when it is started anew: what it had answered can still be read."""
    line = Line(client().connection_pool, AWAY)
    line.send("LPUSH", queue, "first")
    assert rung(queue) == ["first"]
    line._link.read_response()
    line._link.send_command("CLIENT", "ID")
    ident = line._link.read_response()
    line._owed = None
    line.send("LPUSH", queue, "second")
    assert rung(queue) == ["second", "first"]
    client().execute_command("CLIENT", "KILL", "ID", ident)
    line.send("LPUSH", queue, "third")
    assert rung(queue) == ["third", "second", "first"]


def test_one_that_was_never_answered_rings_again(queue: str) -> None:
    line = Line(client().connection_pool, AWAY)
    line.send("LPUSH", queue, "first")
    assert rung(queue) == ["first"]
    line._link._sock.close()
    line.send("LPUSH", queue, "second")
    assert rung(queue) == ["second", "first", "first"]


def test_a_refusal_is_told_and_the_next_one_goes_through(queue: str) -> None:
    client().set(queue, "no list")
    line = Line(client().connection_pool, AWAY)
    assert line.send("LPUSH", queue, "first")
    with pytest.raises(RedisError):
        line.send("LPUSH", queue, "second")
    client().delete(queue)
    assert line.send("LPUSH", queue, "third")
    assert rung(queue) == ["third"]


def test_a_broker_that_is_away_is_said() -> None:
    line = Line(Redis(port=1).connection_pool, AWAY)
    for _ in range(2):
        with pytest.raises(AWAY):
            line.send("LPUSH", "queue", "bell")


def test_it_takes_no_connection_of_the_pool(queue: str) -> None:
    """Lines that are forgotten after errors would leave it empty."""
    pool = client().connection_pool
    before = len(pool._in_use_connections)
    for _ in range(2 * pool.max_connections if pool.max_connections < 100 else 30):
        assert Line(pool, AWAY).send("LPUSH", queue, "bell")
    assert len(pool._in_use_connections) == before
    assert client().llen(queue) >= 20


def test_who_finds_it_busy_rings_by_themselves(queue: str) -> None:
    line = receivers._client(app)[1]
    with line._busy:
        assert not line.send("LPUSH", queue, "bell")
        answers: list[bool] = []
        ringer = threading.Thread(
            target=lambda: answers.append(receivers.ring(thread_id=uuid4(), queue=queue))
        )
        ringer.start()
        ringer.join(timeout=10)
        assert answers == [True]
    assert len(rung(queue)) == 1
