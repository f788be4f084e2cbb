"""The hot store is killed, also during slow flushes, and its clock steps: nothing is lost."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
import redis

from checkpoints.hot import streams
from dashboard.operate.embedded.process.folders import folders, prepare
from dashboard.operate.embedded.valkey import HotStore
from tests.support.disturbed_server import Disturbed

pytestmark = [pytest.mark.hazard, pytest.mark.requirement("A31")]
Start = Callable[..., HotStore]
Kill = Callable[[HotStore], None]


@pytest.fixture
def start(data: Path, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    """Start the hot store of the settings, with or without disturbances."""
    places = folders(data)
    prepare(places)
    server = HotStore(places)
    settings.HOT_URL = f"unix://{server.socket}"
    # A killed server is not waited for.
    monkeypatch.setattr(streams, "PATIENCE", 0.0)
    monkeypatch.setattr(streams, "ENTRIES_MAX", 1_000_000)
    made: list[Disturbed] = []

    def started(disturbed: Disturbed | None = None) -> HotStore:
        with monkeypatch.context() as patch:
            if disturbed is not None:
                made.append(disturbed)
                for name, value in disturbed.environment.items():
                    patch.setenv(name, value)
            server.start()
        server.wait()
        return server

    yield started
    server.stop()
    for one in made:
        one.remove()


def kill(server: HotStore) -> None:
    assert server.process is not None
    server.process.kill()
    server.process.wait()


def kill_during_a_flush(server: HotStore) -> None:
    """Kill the server while a flush in its background is under way."""
    with redis.Redis(unix_socket_path=str(server.socket)) as client:
        while not client.info("persistence")["aof_pending_bio_fsync"]:  # type: ignore[index]
            time.sleep(0.01)
        time.sleep(0.2)
    kill(server)


def append_until_killed(
    thread: UUID, server: HotStore, *, seconds: float, each: int, how: Kill = kill
) -> int:
    """Append while the server is killed in the middle of it; the last number acknowledged."""
    token, number = uuid4(), 0
    streams.open_stream(thread, token=token, seq=1)
    timer = threading.Timer(seconds, how, [server])
    timer.start()
    try:
        while True:
            entries = [b"%d" % (number + n) for n in range(1, each + 1)]
            number = streams.append(thread, token=token, after=number, entries=entries)
    except streams.HotStoreAway:
        return number
    finally:
        timer.join()


def numbers(thread: UUID) -> list[int]:
    return [int(e.content) for e in streams.entries_of(thread, at_most=streams.ENTRIES_MAX)]


def test_a_kill_after_ten_thousand_appends_costs_none(start: Start) -> None:
    server, thread, token = start(), uuid4(), uuid4()
    number, _ = streams.open_stream(thread, token=token, seq=1)
    while number < 10_000:
        entries = [b"%d" % (number + n) for n in range(1, 11)]
        number = streams.append(thread, token=token, after=number, entries=entries)
    kill(server)
    start()
    assert numbers(thread) == list(range(1, 10_001))
    assert streams.open_stream(thread, token=uuid4(), seq=2) == (10_000, 10_000)


@pytest.mark.slow
@pytest.mark.parametrize("slow_ms", [20, 300])
def test_a_kill_during_a_slow_flush_costs_nothing_acknowledged(start: Start, slow_ms: int) -> None:
    server, thread = start(Disturbed(slow_flush_ms=slow_ms)), uuid4()
    acknowledged = append_until_killed(thread, server, seconds=2.0, each=10)
    start()
    there = numbers(thread)
    assert acknowledged >= 10
    # An append that was not answered may be there, whole.
    assert there in (list(range(1, acknowledged + 1)), list(range(1, acknowledged + 11)))


@pytest.mark.slow
def test_with_everysec_the_same_kill_loses_what_was_acknowledged(start: Start) -> None:
    """Without this the test above would prove nothing, and what pages say would be untrue."""
    server, thread = start(Disturbed(slow_flush_ms=500)), uuid4()
    with redis.Redis(unix_socket_path=str(server.socket)) as client:
        client.config_set("appendfsync", "everysec")
    acknowledged = append_until_killed(
        thread, server, seconds=2.0, each=10, how=kill_during_a_flush
    )
    start()
    there = numbers(thread)
    assert there == list(range(1, len(there) + 1))
    assert len(there) < acknowledged


def test_a_clock_that_steps_changes_no_order_and_no_number(start: Start) -> None:
    disturbed = Disturbed()
    start(disturbed)
    thread, token, number = uuid4(), uuid4(), 0
    streams.open_stream(thread, token=token, seq=1)
    before = time.time()
    for shift in (0, -3_600, 7_200, -86_400, 0):
        disturbed.shift(shift)
        time.sleep(0.01)  # the server reads its clock at most once a millisecond
        entries = [b"%d" % (number + n) for n in range(1, 11)]
        number = streams.append(thread, token=token, after=number, entries=entries)
        assert streams.lag_of([thread])[thread].seconds >= 0
    ids = [e.id for e in streams.entries_of(thread, at_most=100)]
    assert numbers(thread) == list(range(1, 51))
    assert len(set(ids)) == 50
    # The clock has stepped indeed: some entries are dated two hours ahead.
    assert max(int(one.split("-")[0]) for one in ids) / 1000 > before + 7_000
    # What is trimmed by an id is what came before it, whatever the clock said.
    assert streams.trim(thread, last=ids[24]) == 25
    assert numbers(thread) == list(range(26, 51))
