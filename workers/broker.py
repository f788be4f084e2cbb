"""The connection to the broker: tried again soon, however long it was away.

Celery waits up to half a minute between two tries; a thread that was queued meanwhile would wait
that long although everything is back.
"""

from __future__ import annotations

from typing import Any

from celery.app.amqp import AMQP
from kombu.connection import Connection

LONGEST_PAUSE = 3.0


class SoonAgain(Connection):
    """A connection whose pauses between tries end at LONGEST_PAUSE seconds."""

    def ensure_connection(self, *args: Any, **options: Any) -> Any:
        """Try until it is there; the pauses of Celery's own calls are the defaults of kombu."""
        pauses = {"interval_start": 0.5, "interval_step": 0.5, "interval_max": LONGEST_PAUSE}
        parent: Any = super()
        return parent.ensure_connection(*args, **(pauses | options))


class Broker(AMQP):
    """Celery's side of the broker, with that connection."""

    Connection = SoonAgain
