"""A worker that ends by itself after so long without work; something else starts the next one."""

from __future__ import annotations

import os
import signal
import time

import structlog

from checkpoints import leases, store
from checkpoints.durabilities import EPHEMERAL, HOT
from checkpoints.ephemeral import copies
from checkpoints.errors import ContentAway
from checkpoints.hot import streams
from checkpoints.hot.streams import HotStoreAway
from checkpoints.limits import lease_seconds

from .. import shared_page
from . import loop
from .claims import code_of
from .stop_flag import stop_requested

log = structlog.get_logger("gatepost.worker")


class Idle:
    """Looks how long this worker has had no work, and ends it; turned by its main process."""

    def __init__(self, seconds: float) -> None:
        # A long step renews its lease within half of its term.
        self._seconds = max(seconds, lease_seconds() / 2)
        self._worked = time.monotonic()

    def turn(self) -> None:
        """End the worker as SIGTERM does if it had no work for so long and none waits for it."""
        self._worked = max(self._worked, shared_page.last_lease())
        if stop_requested() or time.monotonic() - self._worked < self._seconds:
            return
        if _has_work():
            self._worked = time.monotonic()
            return
        log.info("worker.idle", seconds=round(time.monotonic() - self._worked, 1))
        os.kill(os.getpid(), signal.SIGTERM)


def _has_work() -> bool:
    """Answer True if something waits that only a worker with these queues and agents does.

    Where a store does not answer nobody knows: then this worker stays.
    """
    queues, agents = loop.queues(), loop.agents()
    durabilities = {agent.graph.durability for agent in agents.values()}
    try:
        return (
            any(leases.next_queued(queue, code_of(agents)) is not None for queue in queues)
            or any(queue in queues for _, queue in store.stranded_threads(queued_for_seconds=0))
            or (EPHEMERAL in durabilities and _any_message(queues))
            or (HOT in durabilities and bool(streams.threads_with_entries(patience=0)))
        )
    except (ContentAway, HotStoreAway):
        return True


def _any_message(queues: list[str]) -> bool:
    return any(queue in queues for _, queue in copies.waiting(older_than_seconds=0))
