"""Notice a step of the database's clock: it and the monotonic clock of this machine drift apart."""

from __future__ import annotations

import time

import structlog

from approvals.notify.due_deliveries import move_deliveries
from checkpoints import queries, store

# Below this a look that took its time, or a clock that is being slewed, explains it.
NOTICED_SECONDS = 2.0

log = structlog.get_logger("gatepost.clock")


class ClockWatch:
    """Compares both clocks with each `look`; for the sweeper of one worker."""

    def __init__(self) -> None:
        self._apart: float | None = None

    def look(self, *, worker: str) -> float:
        """Seconds by which the database's clock went back since the last look, or 0; noted then.

        Forward steps are not noted: a machine that slept looks the same, and no timer waits longer.
        """
        before = time.monotonic()
        now = queries.clock()
        took = time.monotonic() - before
        apart = now - before - took / 2
        former, self._apart = self._apart, apart
        if former is None or apart - former > -max(NOTICED_SECONDS, 2 * took):
            return 0.0
        log.critical("database.clock_stepped_back", seconds=round(former - apart, 1))
        store.note_clock_step(apart - former, by=worker)
        move_deliveries(apart - former)
        return former - apart
