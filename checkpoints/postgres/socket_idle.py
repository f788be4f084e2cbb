"""Whether a connection can be used, without asking over it; pure but for the look at a socket."""

from __future__ import annotations

import select


def is_quiet(socket: int) -> bool:
    """Whether nothing has come that nobody asked for: a server that ends its side says so."""
    poller = select.poll()
    poller.register(socket, select.POLLIN)
    return not poller.poll(0)
