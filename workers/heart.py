"""Keeps the leases of this process alive, from a thread with a connection of its own.

It beats in the very process that does the step: when that process hangs as a whole, dies or is
stopped, the lease runs out. Trust is counted on the monotonic clock from *before* a renewal was
asked for, less a margin, so this process stops believing earlier than the database does.
"""

from __future__ import annotations

import threading
import time
from uuid import UUID

import structlog
from django.db import DatabaseError, InterfaceError, connection

from checkpoints import leases
from checkpoints.errors import LeaseLost
from checkpoints.limits import lease_seconds

from .slots import lease_is_fresh

log = structlog.get_logger("gatepost.heart")


class Heart:
    """The heartbeat of one lease; start with `with`, ask `check` at every boundary."""

    def __init__(self, thread: UUID, token: UUID) -> None:
        self._thread = thread
        self._token = token
        self._margin = min(3.0, lease_seconds() / 5)
        self._trusted_until = time.monotonic() + lease_seconds() - self._margin
        self._lost = False
        self._stop = threading.Event()
        self._beating = threading.Thread(target=self._beat, name="heart", daemon=True)

    def __enter__(self) -> Heart:
        lease_is_fresh()
        self._beating.start()
        return self

    def __exit__(self, *_exc: object) -> None:
        self._stop.set()

    def check(self) -> None:
        """Raise LeaseLost once the lease is gone or can no longer be trusted."""
        if self._lost or time.monotonic() > self._trusted_until:
            raise LeaseLost(thread=self._thread)

    def _beat(self) -> None:
        pause = lease_seconds() / 3
        try:
            while not self._stop.wait(pause):
                asked = time.monotonic()
                try:
                    if not leases.renew(self._thread, token=self._token):
                        self._lost = True
                        return
                except (DatabaseError, InterfaceError) as error:
                    # The step goes on until its trust is used up; the next beat may succeed.
                    log.warning("lease.renewal_failed", thread=str(self._thread), error=str(error))
                    connection.close()
                    pause = 0.5
                else:
                    self._trusted_until = asked + lease_seconds() - self._margin
                    lease_is_fresh()
                    pause = lease_seconds() / 3
        finally:
            connection.close()
