"""The streams of the hot store: who may append, what is repeated, what survives a restart."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import pytest
import redis

from checkpoints.hot import streams
from checkpoints.hot.streams import Fenced, Full, HotStoreAway
from dashboard.operate.embedded.valkey import HotStore


def contents(thread: UUID) -> list[bytes]:
    return [entry.content for entry in streams.entries_of(thread, at_most=100)]


def test_an_append_whose_answer_was_lost_is_repeated_without_a_second_entry(
    hot_store: redis.Redis,
) -> None:
    thread, token = uuid4(), uuid4()
    assert streams.open_stream(thread, token=token, seq=5) == (0, 0)
    assert streams.append(thread, token=token, after=0, entries=[b"a", b"b"]) == 2
    assert streams.append(thread, token=token, after=0, entries=[b"a", b"b"]) == 2
    assert streams.append(thread, token=token, after=2, entries=[b"c"]) == 3
    # Also when others followed it: they were sent without waiting for its answer.
    assert streams.append(thread, token=token, after=0, entries=[b"a", b"b"]) == 2
    assert contents(thread) == [b"a", b"b", b"c"]
    with pytest.raises(Fenced, match="GAP the last entry is number 3"):
        streams.append(thread, token=token, after=7, entries=[b"x"])
    assert streams.open_stream(thread, token=token, seq=5) == (3, 3)


def test_who_knows_less_than_another_can_neither_open_nor_append(hot_store: redis.Redis) -> None:
    thread, former, present = uuid4(), uuid4(), uuid4()
    with pytest.raises(Fenced):
        streams.append(thread, token=former, after=0, entries=[b"never opened"])
    streams.open_stream(thread, token=former, seq=5)
    streams.append(thread, token=former, after=0, entries=[b"a"])
    assert streams.open_stream(thread, token=present, seq=6) == (1, 1)
    with pytest.raises(Fenced):
        streams.append(thread, token=former, after=1, entries=[b"late"])
    with pytest.raises(Fenced):
        streams.open_stream(thread, token=former, seq=5)
    streams.close_stream(thread, seq=5)  # of the former holder: the present one keeps it
    assert streams.append(thread, token=present, after=1, entries=[b"b"]) == 2
    assert streams.close_stream(thread, seq=7)
    with pytest.raises(Fenced):
        streams.append(thread, token=present, after=2, entries=[b"after a cancel"])
    with pytest.raises(Fenced):
        streams.open_stream(thread, token=present, seq=6)
    assert contents(thread) == [b"a", b"b"]


def test_a_full_stream_takes_all_of_an_append_or_none(
    hot_store: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "ENTRIES_MAX", 3)
    thread, token = uuid4(), uuid4()
    streams.open_stream(thread, token=token, seq=1)
    streams.append(thread, token=token, after=0, entries=[b"a", b"b"])
    with pytest.raises(Full):
        streams.append(thread, token=token, after=2, entries=[b"c", b"d"])
    first, *_ = streams.entries_of(thread, at_most=1)
    assert streams.trim(thread, last=first.id) == 1
    assert streams.append(thread, token=token, after=2, entries=[b"c", b"d"]) == 4
    assert contents(thread) == [b"b", b"c", b"d"]


def test_a_thread_is_listed_while_it_has_entries(hot_store: redis.Redis) -> None:
    thread, token = uuid4(), uuid4()
    streams.open_stream(thread, token=token, seq=1)
    assert streams.threads_with_entries() == []
    streams.append(thread, token=token, after=0, entries=[b"a", b"b"])
    assert streams.threads_with_entries() == [thread]
    lag = streams.lag_of([thread, uuid4()])
    assert [each.entries for each in lag.values()] == [2, 0]
    last = streams.entries_of(thread, at_most=10)[-1]
    assert streams.trim(thread, last=last.id) == 0
    assert streams.threads_with_entries() == []
    assert streams.append(thread, token=token, after=2, entries=[b"c"]) == 3


@pytest.mark.requirement("A31")
def test_a_clock_that_steps_back_keeps_the_order(hot_store: redis.Redis) -> None:
    thread, token = uuid4(), uuid4()
    streams.open_stream(thread, token=token, seq=1)
    streams.append(thread, token=token, after=0, entries=[b"a"])
    # As if the last entry had been appended by a clock an hour ahead, which was then put right.
    seconds, _ = hot_store.time()
    call: Any = hot_store.execute_command
    call("XSETID", f"gatepost:hot:{thread}", f"{(seconds + 3600) * 1000}-0")
    assert streams.append(thread, token=token, after=1, entries=[b"b", b"c"]) == 3
    assert contents(thread) == [b"a", b"b", b"c"]
    first, *_, last = streams.entries_of(thread, at_most=10)
    assert streams.trim(thread, last=first.id) == 2
    assert streams.lag_of([thread])[thread].seconds == 0.0
    assert contents(thread) == [b"b", b"c"]
    assert streams.trim(thread, last=last.id) == 0


def test_functions_fences_and_entries_survive_a_kill(
    hot_store: redis.Redis, hot_server: HotStore
) -> None:
    thread, token = uuid4(), uuid4()
    streams.open_stream(thread, token=token, seq=1)
    streams.append(thread, token=token, after=0, entries=[b"a"])
    assert hot_server.process is not None
    hot_server.process.kill()
    hot_server.process.wait()
    hot_server.start()
    hot_server.wait()
    assert [f[b"library_name"] for f in map(_pairs, hot_store.function_list())] == [
        b"gatepost_hot_2"
    ]
    assert streams.append(thread, token=token, after=1, entries=[b"b"]) == 2
    hot_store.function_flush()  # another server in its place
    assert streams.append(thread, token=token, after=2, entries=[b"c"]) == 3
    assert contents(thread) == [b"a", b"b", b"c"]


def _pairs(flat: list[bytes]) -> dict[bytes, bytes]:
    return dict(zip(flat[::2], flat[1::2], strict=True))


def test_a_store_that_is_away_or_full_says_so(
    hot_store: redis.Redis, settings: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    thread, token = uuid4(), uuid4()
    streams.open_stream(thread, token=token, seq=1)
    hot_store.config_set("maxmemory", 1)
    try:
        with pytest.raises(HotStoreAway, match="full"):
            streams.append(thread, token=token, after=0, entries=[b"x" * 1000])
    finally:
        hot_store.config_set("maxmemory", 256 << 20)
    monkeypatch.setattr(streams, "PATIENCE", 0.1)
    settings.HOT_URL = "unix:///nowhere/valkey.sock"  # type: ignore[attr-defined]
    with pytest.raises(HotStoreAway, match="does not answer"):
        streams.append(thread, token=token, after=0, entries=[b"x"])
