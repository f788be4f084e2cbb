"""Appends in a window: sent before those before them are answered, each there once, in order."""

from __future__ import annotations

from itertools import batched
from uuid import UUID, uuid4

import pytest
import redis

from checkpoints.hot import streams
from checkpoints.hot.appends import WINDOW, Appends
from checkpoints.hot.streams import Fenced, Full, HotStoreAway
from dashboard.operate.embedded.valkey import HotStore

pytestmark = pytest.mark.requirement("A31")


def contents(thread: UUID) -> list[bytes]:
    return [entry.content for entry in streams.entries_of(thread, at_most=10_000)]


def entries_from(first: int, count: int) -> list[bytes]:
    return [b"%d" % n for n in range(first, first + count)]


def send(appends: Appends, entries: list[bytes]) -> None:
    for some in batched(entries, 10):
        appends.append(some)


def test_what_is_sent_without_an_answer_is_there_once_and_in_order(hot_store: redis.Redis) -> None:
    thread = uuid4()
    appends = Appends(thread, seq=1)
    send(appends, entries_from(0, 2_000))
    assert 2_000 - 10 * WINDOW <= appends.number < 2_000
    assert appends.unanswered == entries_from(appends.number, 2_000 - appends.number)
    appends.wait()
    assert (appends.number, appends.unanswered) == (2_000, [])
    assert contents(thread) == entries_from(0, 2_000)
    again = Appends(thread, seq=1)
    assert (again.number, again.n_former) == (2_000, 2_000)


def test_a_lost_connection_is_replaced_and_nothing_is_appended_twice(
    hot_store: redis.Redis,
) -> None:
    thread = uuid4()
    appends = Appends(thread, seq=1)
    for first in range(0, 3_000, 300):
        send(appends, entries_from(first, 300))
        hot_store.client_kill_filter(_type="normal", skipme=True)
    appends.wait()
    assert contents(thread) == entries_from(0, 3_000)


def test_a_killed_store_has_all_that_was_acknowledged_and_takes_the_rest(
    hot_store: redis.Redis, hot_server: HotStore
) -> None:
    thread = uuid4()
    appends = Appends(thread, seq=1)
    send(appends, entries_from(0, 1_000))
    known = appends.number
    assert hot_server.process is not None
    hot_server.process.kill()
    hot_server.process.wait()
    hot_server.start()
    hot_server.wait()
    assert contents(thread)[:known] == entries_from(0, known)
    appends.wait()
    assert contents(thread) == entries_from(0, 1_000)


def test_a_fence_raised_in_the_middle_leaves_the_beginning(hot_store: redis.Redis) -> None:
    thread = uuid4()
    appends = Appends(thread, seq=1)
    send(appends, entries_from(0, 100))
    streams.close_stream(thread, seq=2)
    with pytest.raises(Fenced):
        send(appends, entries_from(100, 1_000))
    left = appends.unanswered
    assert left == entries_from(100, len(left))
    assert contents(thread) == entries_from(0, 100)
    with pytest.raises(Fenced):
        Appends(thread, seq=1)


def test_a_full_stream_takes_the_beginning(
    hot_store: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "ENTRIES_MAX", 55)
    thread = uuid4()
    appends = Appends(thread, seq=1)
    with pytest.raises(Full):
        send(appends, entries_from(0, 1_000))
    assert contents(thread) == entries_from(0, 50)
    assert appends.number == 50
    assert appends.unanswered[0] == b"50"


def test_what_a_former_opening_has_sent_comes_to_nothing(hot_store: redis.Redis) -> None:
    thread = uuid4()
    former = Appends(thread, seq=1)
    former.append([b"a"])
    former.wait()
    present = Appends(thread, seq=1)
    former.append([b"late"])
    present.append([b"b"])
    present.wait()
    with pytest.raises(Fenced):
        former.wait()
    assert contents(thread) == [b"a", b"b"]


def test_functions_are_loaded_where_another_server_lacks_them(hot_store: redis.Redis) -> None:
    thread = uuid4()
    appends = Appends(thread, seq=1)
    send(appends, entries_from(0, 50))
    appends.wait()
    hot_store.function_flush()
    send(appends, entries_from(50, 500))
    appends.wait()
    assert contents(thread) == entries_from(0, 550)


def test_a_store_that_stays_away_is_an_outage(
    hot_store: redis.Redis, hot_server: HotStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "PATIENCE", 0.2)
    appends = Appends(uuid4(), seq=1)
    hot_server.stop()
    try:
        appends.append([b"a"])
        with pytest.raises(HotStoreAway):
            appends.wait()
        assert appends.unanswered == [b"a"]
    finally:
        hot_server.start()
        hot_server.wait()


def test_connections_are_given_back(hot_store: redis.Redis) -> None:
    before = len(hot_store.client_list())
    for _ in range(150):  # more than a pool has
        Appends(uuid4(), seq=1).append([b"a"])
    closed = Appends(uuid4(), seq=1)
    closed.append([b"a"])
    closed.close()
    assert len(hot_store.client_list()) <= before + 5
