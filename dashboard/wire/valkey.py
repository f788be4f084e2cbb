"""Clients of Valkey for all that talks to it beside Celery: hints, progress, health."""

from __future__ import annotations

from typing import Any

import redis
import redis.asyncio
import redis.asyncio.sentinel
import redis.sentinel

from dashboard.configuration.valkey import Address, parse

# The library gives these no types.
Sentinel: Any = redis.sentinel.Sentinel
AsyncSentinel: Any = redis.asyncio.sentinel.Sentinel


def client(url: str, **options: Any) -> redis.Redis:
    """A client of the server at `url`, or of the master that its sentinels name."""
    address = parse(url)
    if address.master:
        result: redis.Redis = Sentinel(address.hosts, **_login(address), **options).master_for(
            address.master, db=address.number
        )
        return result
    return redis.Redis.from_url(address.url(), **options)


def async_client(url: str, **options: Any) -> redis.asyncio.Redis:
    """The same for code in an event loop."""
    address = parse(url)
    if address.master:
        result: redis.asyncio.Redis = AsyncSentinel(
            list(address.hosts), **_login(address), **options
        ).master_for(address.master, db=address.number)
        return result
    return redis.asyncio.Redis.from_url(address.url(), **options)


def sentinels_of(opened: Any) -> list[Any]:
    """The clients of the sentinels that a client asks; who closes it closes them too."""
    return list(getattr(getattr(opened.connection_pool, "sentinel_manager", None), "sentinels", ()))


def _login(address: Address) -> dict[str, str]:
    pairs = (("username", address.username), ("password", address.password))
    return {name: text for name, text in pairs if text}
