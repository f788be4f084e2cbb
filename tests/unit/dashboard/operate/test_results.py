"""The cache of results in Valkey: signed, bounded, emptied alone, away without harm."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.core.cache import caches

from dashboard.operate.results import PREFIX
from dashboard.wire import hints


@pytest.fixture
def cache() -> Iterator[Any]:
    results = caches["results"]
    results.clear()
    yield results
    results.clear()


def names() -> list[bytes]:
    return sorted(hints.client().keys(f"{PREFIX}*"))


def test_what_was_kept_comes_back_until_its_time(cache: Any) -> None:
    assert cache.get("one") is None
    assert cache.get("one", "nothing") == "nothing"
    cache.set("one", '{"a":1}', timeout=60)
    assert cache.get("one") == '{"a":1}'
    [name] = names()
    assert 59_000 < hints.client().pttl(name) <= 60_000
    assert cache.delete("one")
    assert cache.get("one") is None


@pytest.mark.requirement("A13")
def test_what_others_wrote_there_is_nothing(cache: Any) -> None:
    """Who can write to Valkey can neither make up an answer nor give one to another question."""
    cache.set("one", "1", timeout=60)
    cache.set("two", "2", timeout=60)
    one, two = names()
    valkey = hints.client()
    valkey.set(two, valkey.get(one))
    assert (cache.get("one"), cache.get("two")) == ("1", None)
    for forged in (b"3", b"3:signature", b"\xff\xfe"):
        valkey.set(one, forged)
        assert cache.get("one") is None


def test_where_there_is_no_room_nothing_is_kept(cache: Any, settings: Any) -> None:
    settings.GATEPOST_CACHE_MEGABYTES = 0
    cache.set("one", "1", timeout=60)
    assert names() == []


def test_emptying_it_leaves_everything_else(cache: Any) -> None:
    valkey = hints.client()
    valkey.set("progress:other", "1", ex=60)
    for n in range(1_200):
        valkey.set(f"{PREFIX}:1:{n}", "x", ex=60)
    cache.clear()
    assert names() == []
    assert valkey.get("progress:other") == b"1"
    valkey.delete("progress:other")


def test_without_valkey_it_is_empty(cache: Any, settings: Any) -> None:
    cache.set("one", "1", timeout=60)
    settings.REDIS_URL = "unix:///nowhere/valkey.sock"
    try:
        assert cache.get("one") is None
        cache.set("two", "2", timeout=60)
        assert not cache.delete("one")
        cache.clear()
    finally:
        hints._away = False
