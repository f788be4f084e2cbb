"""Connections that do not wait without bound for a database that stands still.

The server's own time-outs end nothing while the server itself is stopped, and the network layers
below see a healthy peer.
"""

from __future__ import annotations

import time
from typing import Any

from psycopg import Connection, OperationalError

from .timelines import connect_to_newest, listed_hosts, seen


class BoundedConnection(Connection[Any]):
    """Gives itself up when an answer takes longer than `patience` seconds (None: the setting)."""

    patience: float | None = None
    # Of its server, where the address lists several hosts.
    timeline = 0

    @classmethod
    def connect(cls, *args: Any, **options: Any) -> Any:
        """Connect; of several hosts to the one that was promoted last."""
        parent: Any = super()
        hosts = listed_hosts(args[0] if args else "", options)
        if not hosts:
            return parent.connect(*args, **options)
        made, timeline = connect_to_newest(
            hosts, lambda **host: parent.connect(*args, **(options | host))
        )
        made.timeline = timeline
        return made

    def wait(self, gen: Any, interval: float = 0.1, timeout: float | None = None) -> Any:
        """Wait for the answer; raises OperationalError, and is closed then, when it does not come.

        A time-out of the caller's own is left to the caller. One to a former primary is closed.
        """
        if 0 < self.timeline < seen.highest:
            self.pgconn.finish()
            raise OperationalError("another host of the address was promoted since")
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
