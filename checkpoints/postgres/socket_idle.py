"""Whether a connection can be used, without asking over it; pure but for the look at a socket."""

from __future__ import annotations

import select


def is_quiet(socket: int) -> bool:
    """Answer True if nothing is readable; a server that closed its side shows as readable."""
    poller = select.poll()
    poller.register(socket, select.POLLIN)
    return not poller.poll(0)
