"""The connection to the broker: tried again soon, however long it was away; no message ends it.

Celery waits up to half a minute between two tries; a thread that was queued meanwhile would wait
that long although everything is back. A connection that is lost is let go of, whatever was in it.
What lies in a queue and is no doorbell is dropped before the broker library sees it: once it has
counted a message that it then cannot read, the slot's prefetch credit never comes back.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property, lru_cache, partial
from typing import Any

from celery.app.amqp import AMQP
from kombu.connection import Connection, ConnectionPool
from kombu.transport.redis import Transport
from redis.exceptions import ResponseError

from . import doorbell, refusals

LONGEST_PAUSE = 3.0
ERROR_PAUSE = 0.3  # seconds after an error reply of the broker
BINDING_PARTS = 3  # routing key, pattern, queue


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


class OneClientChannel:
    """Beside a channel of kombu's: sends all its messages by one client."""

    def __init__(self, *args: Any, **options: Any) -> None:
        self._pooled: Any = None
        super().__init__(*args, **options)

    @contextmanager
    def conn_or_acquire(self, client: Any = None) -> Iterator[Any]:
        """A client of the channel's pool, made once: kombu makes one for each message it sends.

        It holds no connection of its own, each command takes one of the pool.
        """
        channel: Any = self
        if client is None:
            if self._pooled is None or self._pooled.connection_pool is not channel.pool:
                parent: Any = super()
                with parent.conn_or_acquire() as made:
                    self._pooled = made
            client = self._pooled
        yield client


class BellChannel(OneClientChannel):
    """One that also takes doorbells only, and survives an error reply of Valkey."""

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
        channel: Any = self
        with self._mended("list", *self._keys_of(*channel.active_queues)):
            return take()

    # Queues are declared and bound anew with each connection: a foreign value that stays in their
    # keys would keep a worker from ever taking messages again.

    def queue_declare(self, queue: str | None = None, **options: Any) -> Any:
        """Declare a queue, as kombu does."""
        parent: Any = super()
        with self._mended("list", *self._keys_of(*filter(None, [queue]))):
            return parent.queue_declare(queue, **options)

    def queue_bind(self, queue: str, exchange: str | None = None, **options: Any) -> Any:
        """Bind a queue to an exchange, as kombu does."""
        channel: Any = self
        parent: Any = super()
        names = (channel.keyprefix_queue, channel.keyprefix_binding_permanent)
        with self._mended("set", *(name % (exchange,) for name in names)):
            return parent.queue_bind(queue, exchange, **options)

    def get_table(self, exchange: str) -> list[tuple[str, ...]]:
        """The bindings of an exchange, without members of the set that are none."""
        channel: Any = self
        parent: Any = super()
        with self._mended("set", channel.keyprefix_queue % (exchange,)):
            table: list[tuple[str, ...]] = parent.get_table(exchange)
            return [binding for binding in table if len(binding) == BINDING_PARTS]

    def _keys_of(self, *queues: str) -> list[str]:
        """The keys in which messages of these queues lie, one for each priority."""
        channel: Any = self
        return [
            f"{queue}{channel.sep}{priority}" if priority else queue
            for queue in queues
            for priority in channel.priority_steps
        ]

    @contextmanager
    def _mended(self, kind: str, *keys: str) -> Iterator[None]:
        """After an error reply: wait a little, and delete those of the keys that have another type.

        Without the pause Celery would do nothing but connect anew.
        """
        try:
            yield
        except ResponseError as error:
            time.sleep(ERROR_PAUSE)
            if "WRONGTYPE" in str(error):  # of a command alone, or of one in a pipeline
                self._drop_wrong_keys(kind, keys)
            raise

    def _drop_wrong_keys(self, kind: str, keys: Iterable[str]) -> None:
        channel: Any = self
        with channel.conn_or_acquire() as client:
            for key in keys:
                actual = client.type(key).decode()
                if actual not in (kind, "none") and client.unlink(key):
                    refusals.note(key, b"", f"a {actual} was in the place of a {kind}")


@lru_cache(maxsize=8)
def with_channels(transport: Any, kind: type[OneClientChannel]) -> Any:
    """The same transport (plain, TLS, sentinel) with channels of this kind."""
    channel = type("Channel", (kind, transport.Channel), {})
    return type(transport.__name__, (transport,), {"Channel": channel})


class Connections(ConnectionPool):
    """A pool of connections as its own one is; kombu's would make plain ones for producers."""

    def new(self) -> Any:
        """One more connection, which is replaced after an error, as those of kombu's pool."""
        connection = self.connection.clone()
        connection.pool_of = self
        return connection


class FastReconnect(Connection):
    """A connection whose pauses between tries end at LONGEST_PAUSE seconds."""

    pool_of: Any = None

    def Pool(self, limit: int | None = None, **options: Any) -> Any:
        """A pool of connections like this one."""
        pool: Any = Connections
        return pool(self, limit, **options)

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if kind is not None and self.pool_of is not None and self.pool_of.limit:
            self.pool_of.replace(self)
        super().__exit__(kind, error, trace)

    def get_transport_cls(self) -> Any:
        """The transport that the address names, and its channels as they are here."""
        parent: Any = super()
        transport_cls = parent.get_transport_cls()
        if not issubclass(transport_cls, Transport):
            return transport_cls
        # What sends, and asks workers by `celery inspect`, takes their answers: no doorbells.
        kind = BellChannel if self.pool_of is None else OneClientChannel
        return with_channels(transport_cls, kind)

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
