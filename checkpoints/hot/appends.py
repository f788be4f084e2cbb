"""The appends of one lease to a thread's stream: several are on their way before one is answered.

The store flushes once for all that have come until then, so appends that wait for no answer are
many times as fast. They are answered in their order. One that is refused is followed by refusals
only, since each names the entry before it: what is acknowledged is the beginning of what was sent.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import chain
from typing import Final
from uuid import UUID, uuid4

from . import streams

# Appends without an answer.
WINDOW: Final = 32


class Appends:
    """Opens a stream for a lease and appends to it; `number` is that of the last entry in it.

    `seq` is the newest event that the holder of the lease knows, `n_former` how many entries the
    stream had. After an error it takes no more, and `unanswered` are the entries that nobody has
    acknowledged. Raises Fenced, HotStoreAway.
    """

    def __init__(self, thread: UUID, *, seq: int) -> None:
        # Another one each time: what is on its way for a former opening comes to nothing.
        token = uuid4()
        self.number, self.n_former = streams.open_stream(thread, token=token, seq=seq)
        self._keys = streams.keys_of(thread)
        self._own = (str(token), str(thread))
        self._sent = self.number
        self._waiting: deque[tuple[int, Sequence[bytes]]] = deque()
        # One of its own: the answers to come are nobody else's.
        pool = streams.client().connection_pool
        self._connection = pool.connection_class(**pool.connection_kwargs)
        streams.answer(lambda _: self._connection.connect())

    @property
    def n_unanswered(self) -> int:
        """The number of entries that are not acknowledged."""
        return self._sent - self.number

    @property
    def unanswered(self) -> list[bytes]:
        """The entries that are not acknowledged, in their order."""
        return list(chain.from_iterable(entries for _, entries in self._waiting))

    def append(self, entries: Sequence[bytes]) -> None:
        """Send entries; wait where too many are unanswered. Raises Fenced, Full, HotStoreAway."""
        self._waiting.append((self._sent, entries))
        self._sent += len(entries)
        self._send(*self._waiting[-1])
        while len(self._waiting) >= WINDOW:
            self._take_answer()

    def wait(self) -> None:
        """Return when all is acknowledged. Raises as `append` does."""
        while self._waiting:
            self._take_answer()

    def close(self) -> None:
        """Close the connection; what is unanswered may come or not."""
        self._connection.disconnect()

    def _send(self, after: int, entries: Sequence[bytes]) -> None:
        if not self._connection.is_connected:
            return  # its answer is missed as well, and all is sent once more
        token, thread = self._own
        values = (token, after, streams.ENTRIES_MAX, thread, *entries)
        command = ("FCALL", streams.function_name("append"), len(self._keys), *self._keys, *values)
        packed = b"".join(self._connection.pack_command(*command))
        try:
            self._connection.send_packed_command([packed])
        except streams.lost():
            self._connection.disconnect()

    def _take_answer(self) -> None:
        from redis.exceptions import ResponseError  # a worker without hot agents needs no client

        try:
            try:
                self._answered()
            except streams.lost():
                streams.answer(lambda _: self._repeat())
            except ResponseError as error:
                if not streams.lacks_functions(error):
                    raise
                streams.load_functions()
                streams.answer(lambda _: self._repeat())
        except ResponseError as error:
            raise streams.refusal(error) from error

    def _answered(self) -> None:
        """Read the oldest answer."""
        if not self._connection.is_connected:
            from redis.exceptions import ConnectionError as Away

            raise Away("the connection was lost")
        self._connection.read_response()
        after, entries = self._waiting.popleft()
        self.number = after + len(entries)

    def _repeat(self) -> None:
        """Send all that is unanswered over a new connection, as each append may be repeated."""
        self._connection.disconnect()
        self._connection.connect()
        for append in self._waiting:
            self._send(*append)
        self._answered()
