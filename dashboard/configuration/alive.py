"""Check that a pooled connection can be used, over the network only now and then."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

from checkpoints.postgres.socket_idle import is_quiet

if TYPE_CHECKING:
    from psycopg import Connection

ASKED_SECONDS: Final = 1.0
CHECK_SECONDS: Final = 3.0  # one that has not answered by then is not given to a request
_answered: Final[WeakKeyDictionary[Connection[Any], float]] = WeakKeyDictionary()


def check(connection: Connection[Any]) -> None:
    """For psycopg_pool: raises for a connection that is gone.

    A server that ends a connection says so on its socket, which costs nothing to look at. One that
    vanished without a word does not: what did not answer lately is asked.
    """
    from psycopg_pool import ConnectionPool

    lately = time.monotonic() - ASKED_SECONDS < _answered.get(connection, 0.0)
    if lately and is_quiet(connection.fileno()):
        return
    bounded: Any = connection
    bounded.patience = CHECK_SECONDS
    try:
        ConnectionPool.check_connection(connection)
    finally:
        bounded.patience = None
    _answered[connection] = time.monotonic()
