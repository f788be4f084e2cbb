"""The connection to the broker: tried again soon, however long it was away; no message ends it.

Celery waits up to half a minute between two tries; a thread that was queued meanwhile would wait
that long although everything is back. A connection that is lost is let go of, whatever was in it.
What lies in a queue and is no doorbell is dropped before the broker library sees it: once it has
counted a message that it then cannot read, the slot's prefetch credit never comes back.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cached_property, lru_cache, partial
from typing import Any

from celery.app.amqp import AMQP
from kombu.connection import Connection
from kombu.transport.redis import Transport
from redis.exceptions import ResponseError

from . import doorbell, refusals

LONGEST_PAUSE = 3.0
ERROR_PAUSE = 0.3  # seconds after an error reply of the broker


def read_bell(answer: Any, **_options: Any) -> tuple[bytes, bytes] | None:
    """The answer to BRPOP: (queue, doorbell), or None as if the wait had brought nothing."""
    if not answer:
        return None
    key, text = answer
    try:
        bell = doorbell.read(text, key.decode())
    except doorbell.NoDoorbell as error:
        refusals.note(key.decode(errors="replace"), text, str(error))
        return None
    return None if bell is None else (key, bell.encode())


class BellChannel:
    """Beside a channel of kombu's: takes doorbells only, and survives an error reply of Valkey."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        channel: Any = self
        channel.handlers["BRPOP"] = partial(self._take, channel.handlers["BRPOP"])

    @cached_property
    def client(self) -> Any:
        """The client of the channel, whose answers to BRPOP are read here first."""
        parent: Any = super()
        client = parent.client
        client.set_response_callback("BRPOP", read_bell)
        return client

    def _take(self, take: Callable[[], Any]) -> Any:
        try:
            return take()
        except ResponseError as error:
            # Celery connects anew, at once: without a pause it would do nothing else.
            time.sleep(ERROR_PAUSE)
            if str(error).startswith("WRONGTYPE"):
                self._drop_wrong_keys()
            raise

    def _drop_wrong_keys(self) -> None:
        """Delete what lies under a queue's name and is no list: no doorbell would ever arrive."""
        channel: Any = self
        for queue in channel.active_queues:
            for priority in channel.priority_steps:
                key = f"{queue}{channel.sep}{priority}" if priority else queue
                with channel.conn_or_acquire() as client:
                    kind = client.type(key).decode()
                    if kind not in ("list", "none") and client.unlink(key):
                        refusals.note(key, b"", f"its queue was a {kind}")


@lru_cache(maxsize=4)
def with_bells(transport: Any) -> Any:
    """The same transport (plain, TLS, sentinel) with such channels."""
    channel = type("Channel", (BellChannel, transport.Channel), {})
    return type(transport.__name__, (transport,), {"Channel": channel})


class FastReconnect(Connection):
    """A connection whose pauses between tries end at LONGEST_PAUSE seconds."""

    def get_transport_cls(self) -> Any:
        """The transport that the address names, and its channels as they are here."""
        parent: Any = super()
        transport_cls = parent.get_transport_cls()
        return with_bells(transport_cls) if issubclass(transport_cls, Transport) else transport_cls

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
        gone = channel.connection is None or channel.connection.client is None
        try:
            parent.maybe_close_channel(channel)
        except (AttributeError, AssertionError):
            if not gone:
                raise


class Broker(AMQP):
    """Celery's side of the broker, with that connection."""

    Connection = FastReconnect
