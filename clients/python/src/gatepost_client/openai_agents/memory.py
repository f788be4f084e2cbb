"""Sessions of the SDK in memory, for runs of any process and any day."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeVar

from ..conversations import Conversation
from ..wire.settings import Settings
from .recorded import plain

sdk: Any = import_module("agents.memory")
session_settings: Any = import_module("agents.memory.session_settings")
T = TypeVar("T")


class MemorySession:
    """A conversation in Gatepost's memory, as the SDK's `Session` protocol wants it.

    `scope` and `owner` say whose memory it is in; the token needs the scope `memory`. Runs in a
    function with `@controlled` take `Session()` instead, which is recorded with their thread.
    """

    def __init__(
        self,
        session_id: str,
        *,
        scope: str = "workspace",
        owner: str = "",
        settings: Settings | None = None,
        session_settings: Any = None,
    ) -> None:
        self.session_id = session_id
        self.session_settings: Any = session_settings or sdk.SessionSettings()
        self._conversation = Conversation(session_id, scope=scope, owner=owner, settings=settings)

    async def get_items(self, limit: int | None = None) -> list[Any]:
        """All items, or the newest ones, oldest first; a negative limit is none."""
        chosen = session_settings.resolve_session_limit(limit, self.session_settings)
        wanted = None if chosen is not None and chosen < 0 else chosen
        return await _finished(lambda: self._conversation.items(wanted))

    async def add_items(self, items: list[Any]) -> None:
        """Add items: all of them or none."""
        values = plain(items)
        await _finished(lambda: self._conversation.add(values))

    async def pop_item(self) -> Any:
        """Remove the newest item and give it; None where there is none."""
        return await _finished(self._conversation.pop)

    async def clear_session(self) -> None:
        """Remove all items."""
        await _finished(self._conversation.clear)


async def _finished(call: Callable[[], T]) -> T:
    """Call in a thread and wait for its end, also when cancelled: a change is done by then."""
    task = asyncio.ensure_future(asyncio.to_thread(call))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        raise
