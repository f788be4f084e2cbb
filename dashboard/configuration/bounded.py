"""Connections that do not wait without bound for a database that stands still.

The server's own time-outs end nothing while the server itself is stopped, and the network layers
below see a healthy peer.
"""

from __future__ import annotations

import time
from typing import Any

from psycopg import Connection, OperationalError


class BoundedConnection(Connection[Any]):
    """Gives itself up when an answer takes longer than `patience` seconds (None: the setting)."""

    patience: float | None = None

    def wait(self, gen: Any, interval: float = 0.1, timeout: float | None = None) -> Any:
        """Wait for the answer; raises OperationalError, and is closed then, when it does not come.

        A time-out of the caller's own is left to the caller.
        """
        if timeout is not None:
            return super().wait(gen, interval, timeout)
        from checkpoints.limits import answer_seconds

        bound = self.patience or answer_seconds()
        began = time.monotonic()
        try:
            return super().wait(gen, interval, bound)
        except OperationalError:
            if time.monotonic() - began < bound:
                raise
            self.pgconn.finish()
            message = f"no answer from the database within {bound:g} s"
            raise OperationalError(message) from None
