"""Checks of all open sockets' logins that do not wait for the next round."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from .hub import Hub

log = logging.getLogger(__name__)
PAUSE = 0.1  # seconds in which many requests become one check
_waiting: WeakKeyDictionary[Hub, asyncio.Task[None]] = WeakKeyDictionary()


def check_soon(hub: Hub) -> None:
    """Check the logins of all sockets of a hub; requests that come meanwhile are the same check."""
    if hub not in _waiting:
        _waiting[hub] = hub.spawn(_check(hub))


async def _check(hub: Hub) -> None:
    await asyncio.sleep(PAUSE)
    # Before the read: whoever asks from now on may know something newer than it sees.
    _waiting.pop(hub, None)
    try:
        await hub.check_readers()
    except Exception:
        log.exception("Could not check logins; the next round does it")
