"""Sockets of logins that were ended are closed at once, not with the next check of all."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from dashboard.wire.hints import mark_of

if TYPE_CHECKING:
    from .hub import Hub

log = logging.getLogger(__name__)


def check_logins(hub: Hub, marks: frozenset[str]) -> None:
    """Look at once whether the logins of these marks still stand.

    The message alone closes nothing: the database says who is signed in.
    """
    if any(mark_of(member.key) in marks for member in hub.members):
        hub.spawn(_check(hub, marks))


async def _check(hub: Hub, marks: frozenset[str]) -> None:
    try:
        await hub.check_readers(lambda key: mark_of(key) in marks)
    except Exception:
        log.exception("Could not check logins; the next check of all does it")
