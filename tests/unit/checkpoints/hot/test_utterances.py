"""The buffer of a conversation: which numbers it takes, what is repeated, what survives a kill."""

from __future__ import annotations

import signal
import statistics
import time
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
import redis

from checkpoints.hot import utterances
from checkpoints.hot.streams import HotStoreAway
from checkpoints.hot.utterances import (
    Buffer,
    NotOpen,
    OtherWords,
    OutOfOrder,
    TooFast,
    TooMany,
    TooOld,
    Utterance,
)
from dashboard.operate.embedded.process.folders import folders, prepare
from dashboard.operate.embedded.valkey import HotStore

pytestmark = pytest.mark.requirement("A33")


def say(thread: UUID, number: int, text: str = "", *, per_minute: int = 0) -> bool:
    value = {"number": number, "text": text or f"words {number}"}
    one = Utterance(number, "signal", value, "user:1")
    return utterances.add(thread, one, per_minute=per_minute)


def heard(thread: UUID, first: int = 1) -> list[int]:
    return [row.number for row in utterances.utterances_from(thread, first, at_most=5_000)]


def test_numbers_have_no_gap_and_none_has_two_meanings(hot_store: redis.Redis) -> None:
    thread = uuid4()
    with pytest.raises(NotOpen):
        say(thread, 1)
    assert utterances.open_buffer(thread, recorded=0, seq=1) == Buffer(0, 0, 1)
    assert say(thread, 1)
    assert not say(thread, 1), "word for word the same: the same answer, nothing new"
    with pytest.raises(OtherWords) as other:
        say(thread, 1, "something else")
    with pytest.raises(OutOfOrder) as early:
        say(thread, 3)
    assert (other.value.number, early.value.number) == (2, 2)
    assert say(thread, 2)
    # Who opens it again finds it as it is, whatever they have read of the log.
    assert utterances.open_buffer(thread, recorded=0, seq=9) == Buffer(2, 0, 1)
    assert utterances.find_buffer(thread) == Buffer(2, 0, 1)
    assert heard(thread) == [1, 2]
    assert heard(thread, 2) == [2]
    assert utterances.find_buffer(uuid4()) is None


def test_the_newest_recorded_ones_stay_and_older_ones_are_known_as_old(
    hot_store: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(utterances, "STAY", 2)
    thread = uuid4()
    utterances.open_buffer(thread, recorded=0, seq=1)
    for number in range(1, 6):
        say(thread, number)
    assert utterances.threads_with_utterances() == [thread]
    assert utterances.note_recorded(thread, 4, seq=8) == 1
    assert heard(thread) == [3, 4, 5]
    assert hot_store.ttl(f"gatepost:voice:{thread}") == -1, "one is in the buffer alone"
    with pytest.raises(TooOld):
        say(thread, 1)
    assert not say(thread, 4)
    # A note that comes late takes nothing back.
    assert utterances.note_recorded(thread, 2, seq=5) == 1
    assert utterances.find_buffer(thread) == Buffer(5, 4, 8)
    assert utterances.note_recorded(thread, 5, seq=9) == 0
    assert utterances.threads_with_utterances() == []
    assert hot_store.ttl(f"gatepost:voice:{thread}") > 6 * 24 * 3600
    assert say(thread, 6)
    assert hot_store.ttl(f"gatepost:voice:{thread}:stream") == -1
    utterances.forget(thread)
    assert (heard(thread), utterances.threads_with_utterances()) == ([], [])


def test_what_comes_too_fast_or_is_not_recorded_is_refused_and_nothing_is_lost(
    hot_store: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(utterances, "WAITING_MAX", 3)
    thread = uuid4()
    utterances.open_buffer(thread, recorded=0, seq=1)
    for number in range(1, 4):
        say(thread, number)
    with pytest.raises(TooMany):
        say(thread, 4)
    assert not say(thread, 3), "what is there is acknowledged all the same"
    utterances.note_recorded(thread, 3, seq=4)
    assert say(thread, 4)
    monkeypatch.undo()
    other = uuid4()
    utterances.open_buffer(other, recorded=0, seq=1)
    for number in range(1, 4):
        say(other, number, per_minute=3)
    with pytest.raises(TooFast) as fast:
        # A minute may end in between: then three more are taken.
        _ = [say(other, number, per_minute=3) for number in range(4, 8)]
    assert 0 < fast.value.number <= 60
    assert heard(other) == list(range(1, heard(other)[-1] + 1))


@pytest.mark.slow
def test_an_acknowledged_utterance_outlives_a_kill(tmp_path: Path, settings: Any) -> None:
    """kill -9 in the middle of many appends: all that was acknowledged is there, in order."""
    places = folders(tmp_path)
    prepare(places)
    server = HotStore(places)
    server.start()
    server.wait()
    settings.HOT_URL = f"unix://{server.socket}"
    thread = uuid4()
    utterances.open_buffer(thread, recorded=0, seq=1)
    try:
        for number in range(1, 301):
            say(thread, number)
        assert server.process is not None
        server.process.send_signal(signal.SIGKILL)
        server.process.wait(10)
        with pytest.raises(HotStoreAway):
            say(thread, 301)
        server = HotStore(places)
        server.start()
        server.wait()
        assert heard(thread)[:300] == list(range(1, 301))
        # Whether the last one came through is not known, so it is sent again: it is there once.
        say(thread, 301)
        assert heard(thread) == list(range(1, 302))
    finally:
        server.stop()


@pytest.mark.slow
def test_an_append_takes_little_more_than_a_flush(
    hot_store: redis.Redis, record_property: Any
) -> None:
    """p99 of an append beside that of a bare write that is flushed (F), in the same run."""
    thread = uuid4()
    utterances.open_buffer(thread, recorded=0, seq=1)
    took: list[float] = []
    bare: list[float] = []
    text = "What the weather will be like in the north tomorrow. " * 4
    for number in range(1, 1_001):
        if number % 500 == 0:
            utterances.note_recorded(thread, number - 1, seq=number)
        began = time.perf_counter()
        say(thread, number, f"{text} {number}")
        took.append((time.perf_counter() - began) * 1000)
        began = time.perf_counter()
        hot_store.set("bare", text)
        bare.append((time.perf_counter() - began) * 1000)
    p99, flush = (statistics.quantiles(each, n=100)[98] for each in (took, bare))
    p50, half = statistics.median(took), statistics.median(bare)
    record_property("append_p99_ms", round(p99, 2))
    record_property("flush_p99_ms", round(flush, 2))
    print(
        f"append: p50 {p50:.2f} ms, p99 {p99:.2f} ms; bare flush: p50 {half:.2f}, p99 {flush:.2f}"
    )
    assert p50 <= 5 + half
