"""The connection to the broker: tried again soon, however long it was away; no message ends it.

Celery waits up to half a minute between two tries; a thread that was queued meanwhile would wait
that long although everything is back. A connection that is lost is let go of, whatever was in it.
And what is no message at all would end the whole worker: whoever can write to the broker may ring,
but not stop anybody.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import structlog
from celery.app.amqp import AMQP
from kombu.connection import Connection

LONGEST_PAUSE = 3.0

log = structlog.get_logger("gatepost.doorbell")


class Unimpressed:
    """Beside a channel of kombu's: drops what cannot be read as a message."""

    def _brpop_read(self, **options: Any) -> Any:
        parent: Any = super()
        try:
            return parent._brpop_read(**options)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            # It has been taken out of its queue: the next one is another.
            log.warning("message.refused", error=f"{type(error).__name__}: {error}"[:200])
            return True


@lru_cache(maxsize=4)
def unimpressed(transport: Any) -> Any:
    """The same transport (plain, TLS, sentinel) with such channels."""
    channel = type("Channel", (Unimpressed, transport.Channel), {})
    return type(transport.__name__, (transport,), {"Channel": channel})


class SoonAgain(Connection):
    """A connection whose pauses between tries end at LONGEST_PAUSE seconds."""

    def get_transport_cls(self) -> Any:
        """The transport that the address names, and its channels as they are here."""
        parent: Any = super()
        found = parent.get_transport_cls()
        return unimpressed(found) if hasattr(found.Channel, "_brpop_read") else found

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
