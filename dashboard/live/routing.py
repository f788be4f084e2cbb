"""The one address of sockets; everything else is refused before it is accepted."""

from collections.abc import Awaitable, Callable
from typing import Any

from django.urls import path, re_path

from .consumers import LiveConsumer


async def nowhere(
    _scope: dict[str, Any],
    receive: Callable[[], Awaitable[Any]],
    send: Callable[[dict[str, Any]], Awaitable[None]],
) -> None:
    """Refuse the handshake: HTTP 403."""
    await receive()
    await send({"type": "websocket.close"})


websocket_urlpatterns = [
    path("ws/live/", LiveConsumer.as_asgi()),
    re_path("", nowhere),  # type: ignore[arg-type]
]
