"""Work that a process repeats in a thread of its own, with the database, until it is stopped."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from django.db import DatabaseError, InterfaceError, connection

# How long `stop` waits for the turn under way: a process that ends has seconds, not minutes.
STOP_SECONDS = 1.0


class BackgroundLoop:
    """Calls `turn` in a daemon thread until `stop`, with `pause()` seconds after each call.

    No error ends it. One of the database closes the connection, after any other `failed` is called;
    both are logged as "<name>.turn_failed". `last` is called in the thread once it is stopped.
    """

    def __init__(
        self,
        name: str,
        turn: Callable[[], object],
        *,
        log: Any,
        pause: Callable[[], float],
        last: Callable[[], object],
        failed: Callable[[], None] = lambda: None,
    ) -> None:
        self._name, self._turn, self._pause = name, turn, pause
        self._last, self._failed, self._log = last, failed, log
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._turn_on, name=name, daemon=True)

    @property
    def is_stopped(self) -> bool:
        """True if no other turn begins."""
        return self._stop.is_set()

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> bool:
        """Begin no other turn; returns whether the one under way has ended."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(timeout=STOP_SECONDS)
        return not self._thread.is_alive()

    def _turn_on(self) -> None:
        try:
            while not self._stop.is_set():
                self._attempt(self._turn)
                self._stop.wait(self._pause())
            self._attempt(self._last)
        finally:
            connection.close()

    def _attempt(self, part: Callable[[], object]) -> None:
        try:
            part()
        except (DatabaseError, InterfaceError) as error:
            self._log.warning(f"{self._name}.turn_failed", error=str(error).strip())
            connection.close()
        except Exception:
            self._log.exception(f"{self._name}.turn_failed")
            self._failed()
