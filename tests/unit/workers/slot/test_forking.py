"""A fork waits for what the side threads are at, and for no hanging one."""

from __future__ import annotations

import os
import threading
import warnings

import pytest

from workers.slot import forks


@pytest.fixture
def turn(monkeypatch: pytest.MonkeyPatch) -> forks.Turn:
    monkeypatch.setattr(forks, "_turns", [])
    return forks.Turn()


def at_work(
    turn: forks.Turn, held: threading.Lock, seconds: float, end: threading.Event | None = None
) -> threading.Thread:
    """A side thread in the middle of a turn, with a lock, for so long or till the end is set."""
    begun = threading.Event()

    def work() -> None:
        with turn.taken(), held:
            begun.set()
            (end or threading.Event()).wait(seconds)

    side = threading.Thread(target=work)
    side.start()
    assert begun.wait(30)
    return side


def free_in_a_child(held: threading.Lock) -> bool:
    """Whether a process that is forked now can have the lock."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # that is what this is about
        child = os.fork()
    if not child:
        os._exit(0 if held.acquire(timeout=0.5) else 1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_fork_waits_for_the_end_of_a_turn(
    turn: forks.Turn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forks, "LONGEST_WAIT", 30.0)
    held = threading.Lock()
    side = at_work(turn, held, 0.3)
    assert free_in_a_child(held)
    side.join()
    with turn.taken():  # and the parent goes on
        pass


def test_a_turn_that_hangs_does_not_keep_slots_from_being_forked(
    turn: forks.Turn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forks, "LONGEST_WAIT", 0.1)
    held, end = threading.Lock(), threading.Event()
    side = at_work(turn, held, 30.0, end)
    assert not free_in_a_child(held)  # copied as it was; such a slot is found when it stands still
    assert side.is_alive()
    end.set()
    side.join()
    with turn.taken():
        pass
