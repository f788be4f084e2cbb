"""A full hot store refuses appends and nothing else: Celery's messages and other agents go on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import redis
from django.conf import settings

from tests.faults.bench import Field, Worker

pytestmark = [pytest.mark.hazard, pytest.mark.requirement("A30")]


def fill(client: redis.Redis) -> None:
    for _ in range(100_000):
        client.xadd("s:thread", {"d": b"x" * 10_000})


@pytest.fixture
def full(hot_store: redis.Redis) -> Iterator[redis.Redis]:
    """The hot store, filled until it refuses."""
    former: Any = hot_store.config_get("maxmemory")
    hot_store.config_set("maxmemory", "16mb")
    with pytest.raises(redis.OutOfMemoryError):
        fill(hot_store)
    yield hot_store
    hot_store.flushall()
    hot_store.config_set("maxmemory", former["maxmemory"])


def test_the_broker_works_on(field: Field, worker: Worker, full: redis.Redis) -> None:
    n_entries, first = full.xlen("s:thread"), full.xrange("s:thread", count=1)
    assert n_entries > 1_000, "it was filled"
    cases = [field.play("look first", "look last") for _ in range(5)]
    done = [case.wait_status("succeeded") for case in cases]
    assert len(done) == sum(len(case.calls("last")) for case in cases) == 5
    with pytest.raises(redis.OutOfMemoryError):
        fill(full)
    assert full.xlen("s:thread") >= n_entries, "nothing was evicted"
    assert full.xrange("s:thread", count=1) == first
    with redis.Redis.from_url(settings.REDIS_URL) as broker:
        broker.rpush("room", "is left")
        broker.delete("room")
    full.xtrim("s:thread", maxlen=10, approximate=False)
    assert full.xadd("s:thread", {"d": b"x"}), "it takes appends again once it was drained"
