"""Sockets of logins that were ended are closed immediately, not with the next check of all."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from dashboard.wire.hints import mark_of

if TYPE_CHECKING:
    from .hub import Hub

log = logging.getLogger(__name__)
PAUSE = 0.1  # seconds in which many requests become one check of all
_waiting: WeakKeyDictionary[Hub, asyncio.Task[None]] = WeakKeyDictionary()


def check_logins(hub: Hub, marks: frozenset[str]) -> None:
    """Look immediately whether the logins of these marks still stand; without marks, those of all.

    The message alone closes nothing: the database says who is signed in.
    """
    if not marks:
        if hub not in _waiting:
            _waiting[hub] = hub.spawn(_check_all(hub))
    elif any(mark_of(member.key) in marks for member in hub.members):
        hub.spawn(_check(hub, marks))


async def _check_all(hub: Hub) -> None:
    await asyncio.sleep(PAUSE)
    # Before the read: a request from now on may follow a change that the read does not see.
    _waiting.pop(hub, None)
    await _check(hub, frozenset())


async def _check(hub: Hub, marks: frozenset[str]) -> None:
    try:
        await hub.check_readers(lambda key: not marks or mark_of(key) in marks)
    except Exception:
        log.exception("Could not check logins; the next check of all does it")
