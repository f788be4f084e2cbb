"""The door for browsers: HTTP through Django, WebSockets through Channels, lifespan for both."""

import os
from collections.abc import Awaitable, Callable
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dashboard.settings")
os.environ.setdefault("GATEPOST_ROLE", "web")
django.setup(set_prefix=False)

from channels.routing import ProtocolTypeRouter, URLRouter  # noqa: E402

import workers.celery  # noqa: E402, F401  (else the first doorbell waits for its import)
from dashboard.live.origins import SameOrigin  # noqa: E402
from dashboard.live.routing import websocket_urlpatterns  # noqa: E402

from .http.body_limits import Bounded  # noqa: E402
from .http.handler import OneThread  # noqa: E402
from .live import process  # noqa: E402

Message = dict[str, Any]


async def lifespan(
    scope: Message,
    receive: Callable[[], Awaitable[Message]],
    send: Callable[[Message], Awaitable[None]],
) -> None:
    """Answer the server's two questions: may you start, have you stopped."""
    while True:
        message = await receive()
        if message["type"] == "lifespan.shutdown":
            await process.stop()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return


application = ProtocolTypeRouter(
    {
        "http": Bounded(OneThread()),
        # Who is signed in is found by the consumer itself, again and again while it is open.
        "websocket": SameOrigin(URLRouter(websocket_urlpatterns)),
        "lifespan": lifespan,
    }
)
