"""At most one hint per thread and 50 ms: the first immediately, then the newest of the others.

One that says of itself that more is about to follow (a lease; a thread that a worker takes next)
waits 10 ms for that, and keeps nobody from what follows.

A thread of a thousand steps a second would otherwise pay for a thousand messages that all say
"look"; the hub renders 20 times a second at most.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections.abc import Callable, Hashable, Sequence
from itertools import batched

PAUSE = 0.05  # seconds between two hints of one thread
FOLLOW_SECONDS = 0.01  # seconds that a hint waits for the one that is about to follow
TOGETHER = 0.005  # seconds that what falls due may wait to be sent with what does next
NEVER = float("inf")
AT_ONCE = 256  # hints in one call of `send`
MANY = 256  # threads whose last hint is remembered before old ones are forgotten


class Coalescer[T]:
    """Decides when `send(hints)` is called. Safe in threads, and in processes that fork."""

    def __init__(self, send: Callable[[Sequence[T]], None], *, pause: float = PAUSE) -> None:
        self._send = send
        self._pause = pause
        self._reset()
        os.register_at_fork(after_in_child=self._reset)
        atexit.register(self.flush)

    def _reset(self) -> None:
        # A forked child has none of its parent's threads, and what waits is the parent's to send.
        self._lock = threading.Lock()
        self._next: dict[Hashable, float] = {}  # from when on a thread may be announced again
        self._waiting: dict[Hashable, T] = {}
        self._some = threading.Event()
        self._sender: threading.Thread | None = None
        self._looks = NEVER  # when the sender looks again by itself

    def offer(self, thread: Hashable, hint: T, *, more_follows: bool = False) -> None:
        """Send now, or keep the newest of this thread; with `more_follows` for FOLLOW_SECONDS."""
        now = time.monotonic()
        with self._lock:
            due = now >= self._next.get(thread, 0.0)
            if due:
                self._next[thread] = now + (FOLLOW_SECONDS if more_follows else self._pause)
                self._forget(now)
            if more_follows or not due:
                self._waiting[thread] = hint
                if self._next[thread] < self._looks:
                    self._wake()
                return
            self._waiting.pop(thread, None)
        self._send([hint])

    def _forget(self, now: float) -> None:
        if len(self._next) > MANY:
            self._next = {t: at for t, at in self._next.items() if now < at or t in self._waiting}

    def flush(self, *, all: bool = True) -> None:
        """Send what waits, or only what has waited long enough."""
        now = time.monotonic()
        with self._lock:
            due = [t for t in self._waiting if all or now >= self._next[t]]
            hints = [self._waiting.pop(thread) for thread in due]
            self._next.update(dict.fromkeys(due, now + self._pause))
        for some in batched(hints, AT_ONCE):
            self._send(some)

    def _wake(self) -> None:
        self._looks = 0.0  # it looks now: nobody else has to wake it
        self._some.set()
        if self._sender is None:
            self._sender = threading.Thread(target=self._turn, name="hints", daemon=True)
            self._sender.start()

    def _rest(self) -> float | None:
        """Seconds until something that waits is due, at least TOGETHER; None: nothing waits."""
        now = time.monotonic()
        with self._lock:
            first = min((self._next[thread] for thread in self._waiting), default=NEVER)
            self._looks = max(first, now + TOGETHER)
        return None if first is NEVER else self._looks - now

    def _turn(self) -> None:
        while True:
            self._some.wait(self._rest())
            self._some.clear()
            self.flush(all=False)
