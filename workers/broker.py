"""The connection to the broker: tried again soon, however long it was away.

Celery waits up to half a minute between two tries; a thread that was queued meanwhile would wait
that long although everything is back. A connection that is lost is let go of, whatever was in it.
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

    def maybe_close_channel(self, channel: Any) -> None:
        """Close a channel; one whose transport is gone has nothing left to close.

        After a lost connection kombu would put back through it what was not acknowledged, fail with
        another error than Celery expects there, and end the worker with all its steps. A doorbell
        that is lost this way is rung again by the sweep.
        """
        parent: Any = super()
        gone = parent._transport is None
        try:
            parent.maybe_close_channel(channel)
        except (AttributeError, AssertionError):
            if not gone:
                raise


class Broker(AMQP):
    """Celery's side of the broker, with that connection."""

    Connection = SoonAgain
