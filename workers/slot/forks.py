"""A slot is forked only while the side threads of the main process rest.

A fork copies every lock as it is. One that the sweep or the sender holds at that moment (of a
module that it imports, of a client that it makes) is never let go of in the child: the new slot
would take its first doorbell and stand still for ever, without a lease that could run out.
"""

from __future__ import annotations

import gc
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module

import structlog

# A database that hangs may not keep lost slots from being replaced.
LONGEST_WAIT = 2.0

log = structlog.get_logger("gatepost.forking")


class Turn:
    """One round of a side thread; entered by that thread alone."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        _turns.append(self)

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Nothing is forked meanwhile, for LONGEST_WAIT seconds at most."""
        with self._lock:
            yield

    def ended(self, by: float) -> bool:
        """True if it ended before `by` (monotonic); the next one begins after `may_begin`."""
        return self._lock.acquire(timeout=max(0.0, by - time.monotonic()))

    def may_begin(self) -> None:
        """After the fork."""
        self._lock.release()


_turns: list[Turn] = []
_ended: list[Turn] = []


def _before() -> None:
    by = time.monotonic() + LONGEST_WAIT
    _ended[:] = [turn for turn in _turns if turn.ended(by)]
    if len(_ended) < len(_turns):
        log.warning("fork.did_not_wait", seconds=LONGEST_WAIT)
    # What was imported since the start stays shared too: a collection in a slot writes to the rest.
    gc.freeze()


def _in_parent() -> None:
    while _ended:
        _ended.pop().may_begin()


def _in_child() -> None:
    # It has none of those threads.
    _turns.clear()
    _ended.clear()


os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)


def import_ahead() -> None:
    """Import what each slot would import as it begins.

    Where an extra brings cffi, Celery's pool has each child parse a C declaration with it.
    """
    with suppress(ImportError):
        import_module("cffi").FFI()
