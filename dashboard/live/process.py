"""The hub of this process: made by the first socket, ended with the server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import Any
from weakref import WeakKeyDictionary

from django.conf import settings
from django.db import connections

from dashboard.identity.visitors import visitors
from dashboard.wire.topics import Topic

from . import regions
from .hub import Hub
from .served import Look, Reader, Regions, Roles
from .subscription import listen

_hubs: WeakKeyDictionary[asyncio.AbstractEventLoop, Hub] = WeakKeyDictionary()


def tidy[**P, R](call: Callable[P, R]) -> Callable[P, R]:
    """`call`, after which the thread gives its database connection back to the pool."""

    @wraps(call)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return call(*args, **kwargs)
        finally:
            connections.close_all()

    return wrapped


class HubSource:
    """The hub's reads: the regions of the pages, and people who are still signed in."""

    @tidy
    def look(
        self, topic: Topic, wanted: Mapping[Roles, Regions], known: Any, memo: dict[str, Any]
    ) -> Look | None:
        """One read, then one rendering per region and rights class."""
        page = regions.page_of(topic)
        mark = page.mark
        # A hint may announce something that the mark of a board does not cover.
        if topic.kind != "board" and known is not None and mark == known:
            return None
        seq = page.seq
        html = regions.render_for(page, wanted, memo)
        whole = all(names <= html[roles].keys() for roles, names in wanted.items())
        # What failed is looked at again with the next poll.
        return Look(mark if whole else None, seq, html)

    @tidy
    def marks(self, topics: Iterable[Topic]) -> Mapping[Topic, Any]:
        """A few statements for all topics."""
        return regions.marks(topics)

    @tidy
    def readers(self, keys: Iterable[str]) -> Mapping[str, Reader]:
        """Logins and roles as they are now."""
        return visitors(keys)


async def hub() -> Hub:
    """The hub of the running loop; starts it, its poll and its subscription when there is none."""
    loop = asyncio.get_running_loop()
    result = _hubs.get(loop)
    if result is None:
        result = _hubs[loop] = Hub(
            HubSource(),
            poll_seconds=settings.GATEPOST_POLL_SECONDS,
            recheck_seconds=settings.GATEPOST_RECHECK_SECONDS,
        )
        result.start()
        result.spawn(listen(settings.REDIS_URL, result, connected=result.look_round))
    return result


def sockets() -> int:
    """Count the sockets that this process serves."""
    return sum(len(hub.members) for hub in tuple(_hubs.values()))


async def stop() -> None:
    """End the hub of the running loop, if there is one."""
    result = _hubs.pop(asyncio.get_running_loop(), None)
    if result is not None:
        await result.stop()
