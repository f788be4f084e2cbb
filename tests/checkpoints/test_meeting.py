"""A worker that was called before a commit meets it at the row: it waits a moment, no longer."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

import pytest
from django.db import connection, transaction

from checkpoints import history, leases, store
from checkpoints.limits import MEETING_SECONDS
from checkpoints.records import Work
from checkpoints.signals import thread_coming, thread_queued
from checkpoints.states import EventKind, Status
from checkpoints.store import NewEvent
from tests.hazards.bench import wait_until

from .builders import bring_to, kinds_of, make_thread, one, status_of

pytestmark = pytest.mark.usefixtures("real_db")
NEWS = NewEvent(EventKind.DECISION_RECORDED, {}, "user:1")


def waiting() -> UUID:
    thread = make_thread()
    bring_to(thread, Status.WAITING)
    return thread


class Comer(threading.Thread):
    """A worker that comes for a thread; `found` once it is back."""

    def __init__(self, thread: UUID, *, along: bool = True) -> None:
        super().__init__()
        self._thread_id, self._along = thread, along
        self.found: Work | None = None
        self.seconds = 0.0
        self.error: BaseException | None = None
        self.start()

    def run(self) -> None:
        began = time.monotonic()
        try:
            along = [history.asked_of_head(self._thread_id)] if self._along else []
            self.found = leases.acquire(self._thread_id, owner="w:1", along=along, meet=True)
        except BaseException as error:
            self.error = error
        finally:
            self.seconds = time.monotonic() - began
            connection.close()

    def back(self) -> Work | None:
        self.join(timeout=20)
        assert not self.is_alive()
        assert self.error is None
        return self.found


def at_the_row() -> bool:
    """Whether somebody waits for a lock of a row."""
    return bool(one("SELECT count(*) FROM pg_locks WHERE NOT granted"))


@contextmanager
def calls() -> Iterator[dict[str, list[UUID]]]:
    """Who was called before a commit, and who after it."""
    told: dict[str, list[UUID]] = {"before": [], "after": []}

    def before(thread_id: UUID, **_more: object) -> object:
        told["before"].append(thread_id)
        return True

    def after(thread_id: UUID, **_more: object) -> None:
        told["after"].append(thread_id)

    thread_coming.connect(before)
    thread_queued.connect(after)
    try:
        yield told
    finally:
        thread_coming.disconnect(before)
        thread_queued.disconnect(after)


@pytest.mark.parametrize("along", [True, False])
def test_it_waits_for_the_commit_and_takes_what_that_queued(along: bool) -> None:
    thread = waiting()
    with transaction.atomic():
        store.wake(thread, event=NEWS)
        comer = Comer(thread, along=along)
        wait_until(at_the_row, what="the worker is at the row")
    found = comer.back()
    assert found is not None
    assert found.status is Status.RUNNING
    assert found.thread == thread
    assert bool(found.brought) == along
    assert kinds_of(thread)[-2:] == ["decision.recorded", "lease.acquired"]


def test_what_failed_leaves_nothing_to_do() -> None:
    thread = waiting()
    with transaction.atomic():
        store.wake(thread, event=NEWS)
        comer = Comer(thread)
        wait_until(at_the_row, what="the worker is at the row")
        transaction.set_rollback(True)
    assert comer.back() is None
    assert status_of(thread) == "waiting"


def test_nobody_waits_for_ever_and_its_connection_is_good_afterwards() -> None:
    thread = waiting()
    with transaction.atomic():
        store.wake(thread, event=NEWS)
        comer = Comer(thread)
        assert comer.back() is None
        assert MEETING_SECONDS <= comer.seconds < MEETING_SECONDS * 2
    again = Comer(thread)
    assert again.back() is not None


def test_who_comes_without_being_called_early_does_not_wait() -> None:
    thread = waiting()
    with transaction.atomic():
        store.wake(thread, event=NEWS)
        found: list[object] = []

        def come() -> None:
            found.append(leases.acquire(thread, owner="w:1"))
            connection.close()

        other = threading.Thread(target=come)
        other.start()
        other.join(timeout=10)
        assert found == [None]


def test_it_is_called_once_before_the_commit() -> None:
    thread = waiting()
    with calls() as told:
        with transaction.atomic():
            called = store.call_ahead(thread, "gatepost")
            assert told == {"before": [thread], "after": []}
            store.wake(thread, event=NEWS, called=called)
        assert told == {"before": [thread], "after": []}


@pytest.mark.parametrize("seconds", [0.0, 0.12])
def test_it_is_called_again_after_a_commit_that_came_late(seconds: float) -> None:
    thread = waiting()
    with calls() as told:
        with transaction.atomic():
            called = store.call_ahead(thread, "gatepost")
            store.wake(thread, event=NEWS, called=called)
            time.sleep(seconds)
        assert told["after"] == ([thread] if seconds else [])


def test_where_somebody_else_commits_it_is_called_afterwards() -> None:
    thread = waiting()
    with calls() as told:
        with transaction.atomic(), transaction.atomic():
            called = store.call_ahead(thread, "gatepost")
            store.wake(thread, event=NEWS, called=called)
        assert told == {"before": [], "after": [thread]}


@pytest.mark.parametrize("answer", [False, None, "failed"])
def test_a_call_that_nobody_heard_is_made_again(answer: object) -> None:
    thread = waiting()

    def unheard(**_more: object) -> object:
        if answer == "failed":
            raise RuntimeError
        return answer

    with calls() as told:
        kept, thread_coming.receivers = thread_coming.receivers, []
        thread_coming.connect(unheard)
        try:
            with transaction.atomic():
                called = store.call_ahead(thread, "gatepost")
                store.wake(thread, event=NEWS, called=called)
        finally:
            thread_coming.disconnect(unheard)
            thread_coming.receivers = kept
        assert told["after"] == [thread]
