"""Hears answers to commits that their own thread has no time for: a node works longer than usual.

The floors above learn of a commit by whoever reads its answer. Its own thread does so within less
than a millisecond as a rule, and this one some ten later at most, whatever a node does.
"""

from __future__ import annotations

import os
import threading
import time
from typing import Protocol

TICK_SECONDS = 0.01
# So many turns without anything to hear, and the ear rests until it is called.
TURNS = 20


class Heard(Protocol):
    """Something whose answer may come."""

    def hear(self) -> None: ...


class _Ear:
    """One thread per process, begun when it is first needed, at rest where nothing is awaited."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """A forked child has none of its parent's threads."""
        self.awaited: dict[int, Heard] = {}
        self._called = threading.Event()
        self._turns: threading.Thread | None = None
        self._starting = threading.Lock()
        self.rests = True

    def call(self) -> None:
        self._called.set()
        with self._starting:
            if self._turns is None:
                self._turns = threading.Thread(target=self._turn, name="ear", daemon=True)
                self._turns.start()

    def _turn(self) -> None:
        while True:
            self._called.wait()
            self._called.clear()
            self.rests, quiet = False, 0
            while quiet < TURNS:
                before = set(self.awaited)
                time.sleep(TICK_SECONDS)
                late = [self.awaited.get(number) for number in before]
                for heard in late:
                    if heard is not None:
                        heard.hear()
                quiet = 0 if before else quiet + 1
            self.rests = True
            if self.awaited:  # it came between the last look and the rest
                self._called.set()


_ear = _Ear()
os.register_at_fork(after_in_child=_ear.reset)


def listen(heard: Heard) -> None:
    """Hear it when its own thread has not done so for a while."""
    _ear.awaited[id(heard)] = heard
    if _ear.rests:
        _ear.call()


def unlisten(heard: Heard) -> None:
    """Its own thread has heard it."""
    _ear.awaited.pop(id(heard), None)
