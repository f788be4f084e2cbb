"""The hub's subscription to the hints in Valkey, renewed for as long as it takes."""

from __future__ import annotations

import asyncio
import json
import logging
import random
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any
from uuid import UUID

from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from dashboard.wire.hints import CHANNEL
from dashboard.wire.progress import clean
from dashboard.wire.valkey import async_client, sentinels_of

from .ended_logins import check_logins

if TYPE_CHECKING:
    from .hub import Hub

log = logging.getLogger(__name__)

FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0
HEALTH_SECONDS = 5.0


def deliver(hub: Hub, raw: bytes) -> None:
    """Hand one message to the hub; what cannot be read is ignored, the poll finds the news."""
    try:
        message: dict[str, Any] = json.loads(raw)
        if "out" in message:
            check_logins(hub, frozenset(map(str, message["out"])))
            return
        thread, workspace = UUID(message["t"]), UUID(message["w"])
        if "p" in message:
            hub.progress(thread, workspace, clean(message["p"]))
        else:
            hub.hint(thread, workspace, int(message["s"]), again="again" in message)
    except (ValueError, KeyError, TypeError, AttributeError):
        log.warning("Ignored a hint that is none: %r", raw[:200])


async def listen(url: str, hub: Hub, *, connected: Callable[[], Awaitable[None]]) -> None:
    """Subscribe for ever; `connected` is awaited after each (re)connection, to catch up.

    Pages continue by poll while Valkey is away; they say so, and it is logged once each way.
    """
    pause, away = FIRST_PAUSE, False
    while True:
        client = async_client(
            url,
            protocol=2,
            socket_timeout=None,  # silence is normal; the health check finds dead connections
            socket_connect_timeout=2,
            health_check_interval=HEALTH_SECONDS,
            retry=Retry(NoBackoff(), 0),
        )
        subscription = client.pubsub()
        try:
            await subscription.subscribe(CHANNEL)
            while True:
                message = await subscription.get_message(timeout=HEALTH_SECONDS)
                if message is None:
                    continue
                if message["type"] == "message":
                    deliver(hub, message["data"])
                elif message["type"] == "subscribe":
                    if away:
                        log.warning("Valkey is back: pages are pushed again")
                    pause, away = FIRST_PAUSE, False
                    hub.slow_down(False)
                    await connected()
        except (RedisError, OSError, TimeoutError) as error:
            if not away:
                log.warning("Valkey is away, pages poll meanwhile: %s", error)
            away = True
            hub.slow_down(True)
        finally:
            await _close(subscription, client, *sentinels_of(client))
        await asyncio.sleep(pause * random.uniform(0.5, 1.0))  # noqa: S311 - only spreads load
        pause = min(pause * 2, LONGEST_PAUSE)


async def _close(*things: Any) -> None:
    for thing in things:
        try:
            await thing.aclose()
        except (RedisError, OSError):
            pass  # it was broken, which is why it is closed
