"""kill -9 of the hot store while steps are appended: what was acknowledged is there, in order."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from uuid import UUID, uuid4

import pytest
import redis

from checkpoints.hot import streams
from dashboard.operate.embedded.valkey import HotStore
from tests.faults.bench import wait_until

pytestmark = [pytest.mark.hazard, pytest.mark.requirement("A31")]
WRITERS, ENTRIES, WINDOW, KILLS = 4, 2_500, 10, 4


class Writer:
    """Appends to one stream; each call is repeated until it is acknowledged."""

    def __init__(self) -> None:
        self.thread, self.acknowledged, self.repeated = uuid4(), 0, 0

    def work(self) -> None:
        token = uuid4()
        number, _ = streams.open_stream(self.thread, token=token, seq=1)
        while number < ENTRIES:
            entries = [entry(n) for n in range(number, number + WINDOW)]
            try:
                number = streams.append(self.thread, token=token, after=number, entries=entries)
            except streams.HotStoreAway:
                self.repeated += 1
            self.acknowledged = number


def entry(number: int) -> bytes:
    return f"{number} ".encode().ljust(1_000, b"x")


def numbers(thread: UUID) -> list[int]:
    entries = streams.entries_of(thread, at_most=streams.ENTRIES_MAX)
    return [int(one.content.split(b" ")[0]) for one in entries]


def kill(server: HotStore) -> Callable[[], None]:
    """kill -9; what starts the server again."""
    assert server.process is not None
    server.process.kill()
    server.process.wait()

    def start() -> None:
        server.start()
        server.wait()

    return start


def test_kills_among_ten_thousand_appends(hot_store: redis.Redis, hot_server: HotStore) -> None:
    writers = [Writer() for _ in range(WRITERS)]

    def acknowledged() -> int:
        return sum(writer.acknowledged for writer in writers)

    def has_acknowledged(least: int) -> bool:
        return acknowledged() >= least

    with ThreadPoolExecutor(WRITERS) as pool:
        working = [pool.submit(writer.work) for writer in writers]
        for n in range(1, KILLS + 1):
            least = n * ENTRIES * WRITERS // (KILLS + 1)
            wait_until(partial(has_acknowledged, least))
            start = kill(hot_server)
            before = [writer.acknowledged for writer in writers]
            start()
            for writer, number in zip(writers, before, strict=True):
                assert len(numbers(writer.thread)) >= number
        for work in working:
            work.result(timeout=60)
    assert acknowledged() == ENTRIES * WRITERS
    for writer in writers:
        assert numbers(writer.thread) == list(range(ENTRIES))
