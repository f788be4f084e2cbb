"""The log of a thread under many writers: gapless, in the order of commits, nothing missed."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from django.db import connection

from checkpoints import queries, store
from checkpoints.chain import verify_thread
from checkpoints.errors import InvalidValue
from checkpoints.states import EventKind
from checkpoints.store import NewEvent
from tests.unit.checkpoints.builders import OPERATOR, drive, kinds_of, make_thread, one, rows
from tests.unit.checkpoints.racing import race

WRITERS, EACH = 8, 40


@pytest.mark.slow
def test_eight_writers_leave_no_gap_and_readers_miss_nothing(real_db: str) -> None:
    thread = make_thread()
    done = threading.Event()
    seen: list[list[int]] = [[], []]

    def read(results: list[int]) -> None:
        """As a page catches up: always from the last number it has."""
        while True:
            last_round = done.is_set()
            seq = results[-1] if results else 0
            results += [event.seq for event in queries.events_after(thread, seq, limit=7)]
            if last_round and len(results) == one("SELECT last_seq FROM gp_thread"):
                break
        connection.close()

    def write(name: str) -> Any:
        def once(number: int) -> bool:
            data = {"by": name, "number": number}
            return store.add_event(thread, NewEvent(EventKind.THOUGHT_RECORDED, data, name))

        return once

    readers = [threading.Thread(target=read, args=(item,)) for item in seen]
    for reader in readers:
        reader.start()
    answers = race(EACH, *(write(f"worker:{n}") for n in range(WRITERS)))
    done.set()
    for reader in readers:
        reader.join()

    assert sum(answer is True for round_ in answers for answer in round_) == WRITERS * EACH
    total = 1 + WRITERS * EACH
    assert seen == [list(range(1, total + 1))] * 2
    events = rows(
        "SELECT seq, at, data ->> 'by', (data ->> 'number')::int FROM gp_event ORDER BY 1"
    )
    assert [event[0] for event in events] == list(range(1, total + 1))
    times = [event[1] for event in events]
    assert times == sorted(times)  # after waiting for the lock the clock is read again
    for n in range(WRITERS):
        assert [e[3] for e in events if e[2] == f"worker:{n}"] == list(range(EACH))
    assert verify_thread(thread).intact


def test_a_worker_and_people_write_into_one_log(real_db: str) -> None:
    thread = make_thread()
    driver = drive(thread)

    def step(number: int) -> None:
        driver.step(events=[NewEvent(EventKind.THOUGHT_RECORDED, {"n": number}, "worker:1")])

    def news(number: int) -> bool:
        return store.wake(thread, event=NewEvent(EventKind.APPROVAL_DECIDED, {}, OPERATOR))

    answers = race(100, step, news)
    assert all(answer == (None, True) for answer in answers)
    kinds = kinds_of(thread)
    assert len(kinds) == 2 + 100 * 2 + 100
    # What one statement writes stands together.
    committed = [n for n, kind in enumerate(kinds) if kind == "checkpoint.committed"]
    assert {kinds[n + 1] for n in committed} == {"thought.recorded"}
    assert one("SELECT wake_seq FROM gp_thread") == 100
    assert driver.work.wake_seq in range(90, 101)
    assert verify_thread(thread).intact


def test_positions_across_threads_never_go_back(real_db: str) -> None:
    """(xid8, id) below the oldest running transaction: a feed over threads misses nothing."""
    threads = [make_thread() for _ in range(4)]
    results: list[tuple[Any, ...]] = []
    done = threading.Event()

    def feed() -> None:
        while True:
            last_round = done.is_set()
            after = results[-1] if results else ("0", threads[0], 0)
            results.extend(
                rows(
                    "SELECT xid8::text, thread_id, seq FROM gp_event WHERE (xid8, thread_id, seq) "
                    "> (%s::xid8, %s::uuid, %s::bigint) "
                    "AND xid8 < pg_snapshot_xmin(pg_current_snapshot()) "
                    "ORDER BY xid8, thread_id, seq LIMIT 11",
                    after,
                )
            )
            if last_round and len(results) == one("SELECT count(*) FROM gp_event"):
                break
        connection.close()

    reader = threading.Thread(target=feed)
    reader.start()

    def write(thread: Any) -> Any:
        return lambda number: store.add_event(
            thread, NewEvent(EventKind.THOUGHT_RECORDED, {"n": number}, "worker:1")
        )

    race(50, *(write(thread) for thread in threads))
    done.set()
    reader.join(20)
    assert len(results) == len(set(results)) == 4 * 51
    for thread in threads:
        assert [seq for _, ident, seq in results if ident == thread] == list(range(1, 52))


@pytest.mark.django_db
def test_an_event_holds_what_it_was_given_and_names_who_and_when() -> None:
    thread = make_thread()
    data = {"text": "é 😀 \u2028", "n": 1e22, "deep": [{"a": [None, True, -0.5]}]}
    before = one("SELECT clock_timestamp()")
    store.add_event(thread, NewEvent(EventKind.THOUGHT_RECORDED, data, "user:7"))
    event = queries.events(thread).rows[0]
    assert (event.kind, event.actor, event.data, event.seq) == (
        "thought.recorded", "user:7", data, 2,
    )  # fmt: skip
    assert before < event.at < one("SELECT clock_timestamp()")
    [first, second] = queries.events_after(thread, 0)
    assert second.prev_hash == first.hash
    assert first.prev_hash == "0" * 64


@pytest.mark.django_db
def test_an_event_has_a_size() -> None:
    thread = make_thread()
    large = {"text": "x" * (256 * 1024 - 11)}
    assert store.add_event(thread, NewEvent(EventKind.THOUGHT_RECORDED, large, OPERATOR))
    with pytest.raises(InvalidValue, match="exceeds"):
        store.add_event(
            thread, NewEvent(EventKind.THOUGHT_RECORDED, {"text": large["text"] + "x"}, OPERATOR)
        )
    assert one("SELECT last_seq FROM gp_thread") == 2


@pytest.mark.django_db
def test_many_events_of_one_statement_are_one_chain() -> None:
    """And planned in no time: as items of one FROM, 20 events took the planner 3 s."""
    thread = make_thread()
    driver = drive(thread)
    for n in (0, 1, 2, 9, 40):
        thoughts = [NewEvent(EventKind.THOUGHT_RECORDED, {"n": i}, "worker:1") for i in range(n)]
        driver.step(events=thoughts)
        if n:
            store.record(driver.work, thoughts)
    assert one("SELECT count(*) FROM gp_event") == 2 + 5 + 2 * 52
    rows("SET LOCAL statement_timeout = '2s'")
    store.record(driver.work, thoughts)
    assert verify_thread(thread).intact
