"""Connections to MCP servers: each goes to an address that the one rule allows, or is not made."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

import httpcore2
import httpx2
from django.conf import settings

from checkpoints.outbound import addresses

LIMITS = httpx2.Limits(max_connections=500, max_keepalive_connections=100)


class CheckedTransport(httpx2.AsyncHTTPTransport):
    """HTTP over connections whose address was judged, under the name that was asked for.

    `only_listed`: to the networks of GATEPOST_MCP_NETWORKS alone.
    """

    def __init__(self, *, only_listed: bool) -> None:
        super().__init__(limits=LIMITS, trust_env=False)
        pool: Any = self._pool
        # The pool takes a backend when it is made; the transport has no argument for it.
        own = _Checked(pool._network_backend, only_listed)  # noqa: SLF001 - no public place
        pool._network_backend = own  # noqa: SLF001 - no public place


class _Checked(httpcore2.AsyncNetworkBackend):
    """Resolves a name, judges all that it leads to, and connects to what was judged."""

    def __init__(self, inner: Any, only_listed: bool) -> None:
        self._inner, self._only_listed = inner, only_listed

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        try:
            at = await asyncio.to_thread(
                addresses.resolved,
                host,
                port,
                settings.GATEPOST_MCP_NETWORKS,
                only_listed=self._only_listed,
                what="server",
            )
        except addresses.NotCalled as error:
            raise httpcore2.ConnectError(str(error)) from None
        made: httpcore2.AsyncNetworkStream = await self._inner.connect_tcp(
            at, port, timeout=timeout, local_address=local_address, socket_options=socket_options
        )
        return made

    async def sleep(self, seconds: float) -> None:
        await self._inner.sleep(seconds)
