"""Keeps the leases of this process alive, from a thread with a connection of its own.

It beats in the very process that does the step: when that process hangs as a whole, dies or is
stopped, the lease runs out. Trust is counted on the monotonic clock from *before* a renewal was
asked for, less a margin, so this process stops believing earlier than the database does.

It also watches how long the node at work takes. Past its limit the lease is renewed no more: the
thread goes elsewhere, and a slot that is a process by itself ends, whatever the node is doing.
"""

from __future__ import annotations

import _thread
import threading
import time
from collections.abc import Callable
from uuid import UUID

import structlog
from django.db import DatabaseError, InterfaceError, connection

from checkpoints import leases
from checkpoints.errors import LeaseLost
from checkpoints.limits import lease_seconds, step_seconds
from checkpoints.records import STOP, Work

from .. import shared_page
from ..authoring import time_limits
from . import losses

log = structlog.get_logger("gatepost.heartbeat")
TICK_SECONDS = 1.0


class Heartbeat:
    """The heartbeat of one lease; start with `with`, ask `check` at every boundary."""

    def __init__(self, thread: UUID, token: UUID) -> None:
        self._thread = thread
        self._token = token
        self._margin = min(3.0, lease_seconds() / 5)
        self._trusted_until = time.monotonic() + lease_seconds() - self._margin
        self._lost = False
        self._breaker = ""
        # Called with each renewal, by its thread.
        self.report: Callable[[], None] | None = None
        self._stop = threading.Event()
        self._turning = threading.Lock()

    def __enter__(self) -> Heartbeat:
        shared_page.lease_is_fresh()
        shared_page.turn()
        # Not `Thread.start`, which waits until the new thread has had its first turn: the lease is
        # fresh, and the node is not.
        _thread.start_new_thread(self._beat, ())
        return self

    def __exit__(self, *_exc: object) -> None:
        with self._turning:
            self._stop.set()
            shared_page.rest()

    def check(self) -> None:
        """Raise LeaseLost once the lease is gone or can no longer be trusted."""
        if self._lost or time.monotonic() > self._trusted_until:
            raise LeaseLost(thread=self._thread)

    def note_breaker(self, work: Work) -> None:
        """Note a breaker that was seen with a renewal: a step may write rarely."""
        if self._breaker and work.wish != "pause":
            work.wish, work.wish_by = STOP, self._breaker

    def _pause(self, due: float) -> float:
        left = TICK_SECONDS if self._lost else due - time.monotonic()
        return max(0.0, min(left, TICK_SECONDS))

    def _turn(self) -> bool:
        """Show that this slot turns, unless its lease has just ended: at rest it need not."""
        with self._turning:
            if self._stop.is_set():
                return False
            shared_page.turn()
            return True

    def _beat(self) -> None:
        pause = lease_seconds() / 3
        limit = step_seconds()
        due = time.monotonic() + pause
        try:
            while not self._stop.wait(self._pause(due)):
                if not self._turn():
                    return
                late = time_limits.past(self._token, limit)
                if late is not None:
                    self._lost = True
                    losses.past_limit(self._thread, self._token, *late)
                    return
                if self._lost or time.monotonic() < due:
                    continue
                request = time.monotonic()
                try:
                    wish = leases.beat(self._thread, token=self._token)
                    if wish is None:
                        self._lost = True  # and the step may still end by itself
                        continue
                    self._breaker = wish[1] if wish[0] == STOP else ""
                    if self.report is not None:
                        self.report()
                except (DatabaseError, InterfaceError) as error:
                    # The step continues until its trust is used up; the next beat may succeed.
                    log.warning("lease.renewal_failed", thread=str(self._thread), error=str(error))
                    connection.close()
                    pause = 0.5
                else:
                    self._trusted_until = request + lease_seconds() - self._margin
                    shared_page.lease_is_fresh()
                    pause = lease_seconds() / 3
                due = time.monotonic() + pause
        finally:
            connection.close()
