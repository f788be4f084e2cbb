"""One connection to the broker for doorbells: nobody waits for its answers.

The answer to a doorbell is read when the next one is sent, and has long arrived then. If the broker
went away before it answered, the connection is made anew and the former rings again: twice is
harmless.
"""

from __future__ import annotations

import threading
from typing import Any

from checkpoints.postgres.socket_idle import is_quiet

type Command = tuple[str, ...]

_END = b"\r\n"
_ANSWER = 1024  # bytes; the answer to a doorbell has some five


def _packed(command: Command) -> bytes:
    parts = [part.encode() for part in command]
    return b"*%d\r\n" % len(parts) + b"".join([b"$%d\r\n%b\r\n" % (len(p), p) for p in parts])


class Line:
    """Commands over a connection like those of `pool`, the broker's own client's; none of its.

    Whoever forgets the line closes it: nothing is to be given back.
    """

    def __init__(self, pool: Any, away: tuple[type[Exception], ...]) -> None:
        self._pool, self._away = pool, away
        self._link: Any = None
        self._owed: Command | None = None
        self._busy = threading.Lock()

    def send(self, *command: str) -> bool:
        """Whether it is on its way; False: another thread sends. Raises what `away` names."""
        if not self._busy.acquire(blocking=False):
            return False
        try:
            self._send(command)
        except BaseException:
            self._hang_up()
            raise
        finally:
            self._busy.release()
        return True

    def _send(self, command: Command) -> None:
        if self._link is None:
            self._link = self._pool.connection_class(**self._pool.connection_kwargs)
            self._link.connect()
        elif self._link._sock is None or not self._answered():
            self._link.disconnect()
            self._link.connect()
            if self._owed is not None:
                self._link.send_command(*self._owed)
                self._link.read_response()
        # By hand: the client's encoders and readers take five times as long as the socket.
        self._link._sock.sendall(_packed(command))
        self._owed = command

    def _answered(self) -> bool:
        """Whether the last command was answered, and the broker is still there."""
        if self._owed is not None and not self._took_an_answer():
            self._link.disconnect()  # if it was a refusal, no other answer would come
            return False
        self._owed = None
        # What is to be read now is the end of the connection. The client's own way to look
        # (`can_read`) takes as long as the sending.
        return is_quiet(self._link._sock.fileno())

    def _took_an_answer(self) -> bool:
        """Whether a number came: how many doorbells wait there."""
        try:
            answer = self._link._sock.recv(_ANSWER)
            while answer[-2:] != _END:
                more = self._link._sock.recv(_ANSWER)
                if not more:
                    return False
                answer += more
        except self._away:
            return False
        return bool(answer[:1] == b":")

    def _hang_up(self) -> None:
        link, self._link, self._owed = self._link, None, None
        if link is not None:
            link.disconnect()
