"""ASGI applications beside Django, each at its own path."""

from __future__ import annotations

from collections.abc import Mapping

from dashboard.http.body_limits import App, Message, Receive, Send


class Mounted:
    """ASGI: gives a request to the application at its path, and all others to `rest`.

    A path that ends with /* takes everything below it, another one only itself.
    """

    def __init__(self, rest: App, at: Mapping[str, App]) -> None:
        self._rest = rest
        self._at = dict(sorted(at.items(), key=lambda item: -len(item[0])))

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        path = scope["path"]
        for at, app in self._at.items():
            below = at.removesuffix("*")
            if path == at or (below != at and path.startswith(below) and path != below):
                await app(scope, receive, send)
                return
        await self._rest(scope, receive, send)
