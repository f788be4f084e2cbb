"""Whether something that raised may have happened all the same."""

from __future__ import annotations

import re

# Names of the common clients: what was sent has no answer.
_OPEN = re.compile(
    "Timeout|ReadError|WriteError|RemoteProtocol|ProtocolError|Disconnected|IncompleteRead|"
    "ConnectionError|ConnectionReset|ConnectionAborted|BrokenPipe"
)
# Nothing was sent.
_CLOSED = re.compile("ConnectError|ConnectTimeout|ConnectionRefused|NewConnection|PoolTimeout")


class NotDone(Exception):
    """Raise it in an effect that certainly did not happen."""


def is_open(error: BaseException) -> bool:
    """Answer True if an effect that raised this may have happened: a time-out, a cut-off answer."""
    names = [kind.__name__ for kind in type(error).__mro__]
    if isinstance(error, NotDone) or any(_CLOSED.search(name) for name in names):
        return False
    return any(_OPEN.search(name) for name in names)
