"""One connection to the broker for doorbells: nobody waits for its answers.

The answer to a doorbell is read when the next one is sent, and has long arrived then. If the broker
went away before it answered, the connection is made anew and the former rings again: twice is
harmless.
"""

from __future__ import annotations

import threading
from typing import Any

from checkpoints.quiet import is_quiet

type Command = tuple[str, ...]


class Line:
    """Commands over one connection of `pool`, a pool of the broker's own client."""

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
            self._link = self._pool.get_connection()
        elif not self._quiet():
            self._link.disconnect()
            self._link.connect()
            if self._owed is not None:
                self._link.send_command(*self._owed)
                self._link.read_response()
        self._link.send_command(*command)
        self._owed = command

    def _quiet(self) -> bool:
        """Whether the last command was answered, and the broker is still there."""
        try:
            if self._owed is not None:
                self._link.read_response()
                self._owed = None
            # What is to be read now is the end of the connection. (`can_read` of the client tries
            # to read for it, which takes as long as the sending.)
            return is_quiet(self._link._sock.fileno())
        except self._away:
            return False

    def _hang_up(self) -> None:
        link, self._link, self._owed = self._link, None, None
        if link is not None:
            link.disconnect()
            self._pool.release(link)
