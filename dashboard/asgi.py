"""The ASGI application: HTTP through Django, WebSockets through Channels, lifespan for both."""

import gc
import os
from collections.abc import Awaitable, Callable
from typing import Any

import django

# Nothing that an import makes is garbage: to look for some takes a tenth of the start.
gc.disable()
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dashboard.settings")
os.environ.setdefault("GATEPOST_ROLE", "web")
django.setup(set_prefix=False)

from channels.routing import ProtocolTypeRouter, URLRouter  # noqa: E402
from django.core.signals import request_started  # noqa: E402
from django.db import close_old_connections, reset_queries  # noqa: E402

import workers.celery  # noqa: E402, F401  (else the first doorbell waits for its import)
from checkpoints.outbound import own_secrets  # noqa: E402
from dashboard.gateway import app, gateway  # noqa: E402
from dashboard.gateway.server.endpoint import McpServer  # noqa: E402
from dashboard.http.mount import Mounted  # noqa: E402
from dashboard.live.origins import SameOrigin  # noqa: E402
from dashboard.live.routing import websocket_urlpatterns  # noqa: E402
from dashboard.voice.routing import websocket_urlpatterns as voice  # noqa: E402

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
            await gateway.stop()
            await process.stop()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return


# A request's thread gives its connection back at the end: there is none to look at when it begins,
# and each receiver of this signal would send the request to its thread once more.
for looks in (reset_queries, close_old_connections):
    request_started.disconnect(looks)
pages_and_calls = OneThread()
mcp_server = McpServer(pages_and_calls)
application = ProtocolTypeRouter(
    {
        "http": Bounded(
            Mounted(
                pages_and_calls,
                at={"/mcp": mcp_server, "/mcp/": mcp_server, app.PATH: app.application},
            )
        ),
        # Who is signed in is found by the consumer itself, again and again while it is open.
        "websocket": SameOrigin(URLRouter([*voice, *websocket_urlpatterns])),
        "lifespan": lifespan,
    }
)
own_secrets.forget()  # the settings have read them; programs that are MCP servers start here
gc.freeze()
gc.enable()
