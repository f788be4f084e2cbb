"""The hot store: a Valkey of its own that keeps each acknowledged append, whatever kills it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from dashboard.operate.embedded.process.folders import folders, prepare
from dashboard.operate.embedded.valkey import HotStore, Valkey

ENTRIES = 2_000


@pytest.fixture
def server(data: Path) -> Iterator[HotStore]:
    places = folders(data)
    prepare(places)
    started = HotStore(places)
    started.start()
    started.wait()
    yield started
    started.stop()


def client(server: Valkey) -> redis.Redis:
    return redis.Redis(unix_socket_path=str(server.socket))


def test_it_keeps_what_it_acknowledged_and_evicts_nothing(server: HotStore) -> None:
    with client(server) as connection:
        settings = connection.config_get("*")
    wanted = {
        "appendonly": "yes",
        "appendfsync": "always",
        "maxmemory": str(256 << 20),
        "maxmemory-policy": "noeviction",
        "port": "0",
    }
    assert {name: settings[name] for name in wanted} == wanted


@pytest.mark.requirement("A30")
def test_streams_and_fences_survive_a_kill(server: HotStore) -> None:
    with client(server) as connection:
        for number in range(ENTRIES):
            pipe = connection.pipeline(transaction=True)
            pipe.hset("m:thread", mapping={"token": "lease-1", "seq": number + 1})
            pipe.xadd("s:thread", {"s": number + 1, "d": b"x" * 200})
            pipe.execute()
    assert server.process is not None
    server.process.kill()
    server.process.wait()
    server.start()
    server.wait()
    with client(server) as connection:
        assert connection.hgetall("m:thread") == {b"token": b"lease-1", b"seq": b"%d" % ENTRIES}
        numbers = [int(fields[b"s"]) for _, fields in connection.xrange("s:thread")]
    assert numbers == list(range(1, ENTRIES + 1))


def test_it_is_no_server_of_doorbells(data: Path) -> None:
    places = folders(data)
    prepare(places)
    both = Valkey(places), HotStore(places)
    try:
        for one in both:
            one.start()
        for one in both:
            one.wait()
        with client(both[0]) as doorbells, client(both[1]) as hot:
            hot.set("here", "yes")
            assert doorbells.get("here") is None
            assert hot.info("server")["run_id"] != doorbells.info("server")["run_id"]
    finally:
        for one in both:
            one.stop()
    assert {path.name for path in places.hot.iterdir()} == {"appendonlydir"}


def test_the_fixture_is_the_server_of_the_settings(hot_store: redis.Redis) -> None:
    from django.conf import settings

    hot_store.set("seen", "yes")
    with redis.Redis.from_url(settings.HOT_URL) as connection:
        assert connection.get("seen") == b"yes"
    with redis.Redis.from_url(settings.REDIS_URL) as connection:
        assert connection.get("seen") is None
