"""Celery's prefork pool, which hands a doorbell to an idle slot at once."""

from __future__ import annotations

from typing import Any

from celery.concurrency import asynpool, prefork


class Slots(asynpool.AsynPool):
    """Celery's own waits for the next turn of its loop, and asks the broker for more before it."""

    _quick_put: Any

    def _create_write_handlers(self, hub: Any, *args: Any, **more: Any) -> None:
        super()._create_write_handlers(hub, *args, **more)
        put, write = self._quick_put, hub.consolidate_callback

        def at_once(message: Any) -> None:
            put(message)
            # Those at work are passed over; where none is idle the message stays for the loop.
            write(list(self._all_inqueues))

        self._quick_put = at_once


class Pool(prefork.TaskPool):
    """What `--pool prefork` means here."""

    Pool = Slots
