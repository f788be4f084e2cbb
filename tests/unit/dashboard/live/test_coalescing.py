"""Hints of a busy thread: the first at once, then one per pause, the newest always at last."""

from __future__ import annotations

import os
import select
import signal
import threading
import time
from collections.abc import Sequence
from uuid import uuid4

import pytest

from dashboard.live import hint_pace
from dashboard.live.hint_pace import TOGETHER, Coalescer
from dashboard.wire import hints

PAUSE = 0.1


class Clock:
    """The clock of the pace, which stands until it is let go: no machine is too slow for it."""

    def __init__(self) -> None:
        self.at: float | None = time.monotonic()

    def monotonic(self) -> float:
        return time.monotonic() if self.at is None else self.at

    def go(self) -> None:
        self.at = None


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(hint_pace, "time", made)
    return made


def wait_for(sent: list[str], text: str) -> None:
    deadline = time.monotonic() + 30
    while text not in sent:
        assert time.monotonic() < deadline, sent
        time.sleep(0.005)


def test_the_first_goes_at_once_and_the_newest_afterwards(clock: Clock) -> None:
    sent: list[str] = []
    hints, thread = Coalescer(sent.extend, pause=PAUSE), uuid4()
    hints.offer(thread, "1")
    assert sent == ["1"]
    for number in range(2, 1000):
        hints.offer(thread, str(number))
    assert sent == ["1"]
    clock.go()
    wait_for(sent, "999")
    assert sent == ["1", "999"]


def test_what_is_soon_followed_by_more_is_told_with_it(clock: Clock) -> None:
    sent: list[str] = []
    hints, thread, other = Coalescer(sent.extend, pause=PAUSE), uuid4(), uuid4()
    hints.offer(thread, "lease", more_follows=True)
    hints.offer(thread, "effect")
    assert sent == []
    clock.go()
    wait_for(sent, "effect")
    assert sent == ["effect"]
    hints.offer(other, "lease", more_follows=True)  # and nothing follows
    wait_for(sent, "lease")
    assert sent == ["effect", "lease"]


def test_a_quiet_thread_is_never_kept_waiting(clock: Clock) -> None:
    sent: list[str] = []
    hints, busy = Coalescer(sent.extend, pause=PAUSE), uuid4()
    for number in range(20):
        hints.offer(busy, "busy")
        hints.offer(uuid4(), str(number))
        assert sent[-1] == str(number)
    clock.go()
    deadline = time.monotonic() + 30
    while sent.count("busy") < 2:
        assert time.monotonic() < deadline, sent
        time.sleep(0.005)
    time.sleep(PAUSE * 1.1)
    count = len(sent)
    hints.offer(busy, "again")
    assert sent[count:] == ["again"]


def test_a_busy_thread_is_told_about_at_a_steady_rate() -> None:
    sent: list[str] = []
    hints, thread = Coalescer(sent.extend, pause=PAUSE), uuid4()
    began, number = time.monotonic(), 0
    while time.monotonic() - began < PAUSE * 8:
        number += 1
        hints.offer(thread, str(number))
        time.sleep(0.001)
    wait_for(sent, str(number))
    assert 2 <= len(sent) <= (time.monotonic() - began) / PAUSE + 2 < number


def test_many_threads_at_once_lose_no_last_word() -> None:
    sent: list[str] = []
    hints = Coalescer(sent.extend, pause=0.02)
    threads = [uuid4() for _ in range(300)]

    def talk(worker: int) -> None:
        for number in range(20):
            for n, thread in enumerate(threads[worker::3]):
                hints.offer(thread, f"{worker} {n} {number}")

    talkers = [threading.Thread(target=talk, args=(worker,)) for worker in range(3)]
    for talker in talkers:
        talker.start()
    for talker in talkers:
        talker.join()
    for worker in range(3):
        for n in range(100):
            wait_for(sent, f"{worker} {n} 19")


def test_many_that_are_soon_due_are_sent_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """A processor that is busy with a decision each is not taken from it for every one."""
    sent: list[str] = []
    times = [0]

    def send(some: Sequence[str]) -> None:
        times[0] += 1
        sent.extend(some)

    hints, looks = Coalescer(send, pause=PAUSE), [0]
    flush = hints.flush

    def counted(*, all: bool = True) -> None:
        looks[0] += 1
        flush(all=all)

    monkeypatch.setattr(hints, "flush", counted)
    began = time.monotonic()
    for number in range(400):
        hints.offer(uuid4(), str(number), more_follows=True)
        time.sleep(0.0005)
    wait_for(sent, "399")
    took = time.monotonic() - began
    assert sorted(sent, key=int) == [str(number) for number in range(400)]
    assert times[0] <= looks[0] <= took / TOGETHER + 2


def test_a_forked_process_sends_its_own() -> None:
    reading, writing = os.pipe()
    hints, thread = Coalescer(lambda some: None, pause=PAUSE), uuid4()
    hints.offer(thread, "first")
    hints.offer(thread, "waits in the parent")
    hints._send = lambda some: os.write(writing, "\n".join([*some, ""]).encode()) and None
    child = os.fork()
    if child == 0:
        hints.offer(thread, "child 1")
        hints.offer(thread, "child 2")
        time.sleep(60)
        os._exit(0)
    payload: list[str] = []
    try:
        while len(payload) < 3 and select.select([reading], [], [], 30)[0]:
            payload += os.read(reading, 1000).decode().splitlines()
        time.sleep(PAUSE * 2)
        while select.select([reading], [], [], 0)[0]:  # what is sent twice
            payload += os.read(reading, 1000).decode().splitlines()
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(reading)
        os.close(writing)
    assert sorted(payload) == ["child 1", "child 2", "waits in the parent"]


@pytest.mark.slow
def test_hints_that_travel_together_all_arrive_in_order() -> None:
    messages = [uuid4().hex for _ in range(3)]
    with hints.client().pubsub(ignore_subscribe_messages=True) as ear:
        ear.subscribe(hints.CHANNEL)
        assert ear.get_message(timeout=2) is None  # the confirmation
        hints.publish(*messages)
        heard: list[str] = []
        while (message := ear.get_message(timeout=2)) is not None and heard[-1:] != messages[-1:]:
            heard.append(message["data"].decode())
    assert [text for text in heard if text in messages] == messages
