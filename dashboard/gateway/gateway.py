"""All that one event loop of a web process knows of the gateway."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import structlog
from django.db import InterfaceError, OperationalError

from checkpoints.limits import lease_seconds
from dashboard.live.process import tidy

from .calls import Dispatch, renew
from .conversations import Conversations, look_for_lost
from .upstream.commands import CommandServers
from .upstream.streamable_http import HttpServers

log = structlog.get_logger("gatepost.mcp")
# Each has a connection of the web process's pool while it works.
THREADS: Final = 8
LOST_EVERY_SECONDS: Final = 30.0


class Gateway:
    """All that one event loop knows: conversations, connections, programs, calls at work."""

    def __init__(self) -> None:
        self.conversations = Conversations()
        self.http = HttpServers()
        self.commands = CommandServers()
        self.at_work: set[Dispatch] = set()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="mcp")
        self._looking = asyncio.create_task(self._look_after())

    async def in_thread[T](self, call: Callable[..., T], *args: Any) -> T:
        """The result of a short blocking call."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, tidy(call), *args)

    def spawn(self, work: Any) -> asyncio.Task[Any]:
        """Start what continues though its client has left."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _look_after(self) -> None:
        """Renew leases, end what is over, look for what lost processes left behind."""
        looked = 0.0
        while True:
            await asyncio.sleep(lease_seconds() / 3)
            try:
                await self.in_thread(self.conversations.look_after)
                for dispatch in tuple(self.at_work):
                    await self.in_thread(renew, dispatch)
                await self.commands.look_after()
                if time.monotonic() - looked > LOST_EVERY_SECONDS:
                    looked = time.monotonic()
                    await self.in_thread(look_for_lost, "system:gateway")
            except (OperationalError, InterfaceError) as error:
                log.warning("mcp.look_after_failed", error=str(error).strip())
            except Exception:
                log.exception("mcp.look_after_failed")

    async def stop(self) -> None:
        """End conversations, programs and connections; calls at work are found by the next one."""
        self._looking.cancel()
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(self._looking, *self._tasks, return_exceptions=True)
        await self.in_thread(self.conversations.end_all)
        await self.commands.close()
        await self.http.close()
        self._threads.shutdown(wait=False)


_gateways: dict[asyncio.AbstractEventLoop, Gateway] = {}


def of_loop() -> Gateway:
    """The gateway of the running event loop, made by its first request."""
    loop = asyncio.get_running_loop()
    gateway = _gateways.get(loop)
    if gateway is None:
        gateway = _gateways[loop] = Gateway()
    return gateway


async def stop() -> None:
    """End the gateway of the running loop, if there is one."""
    gateway = _gateways.pop(asyncio.get_running_loop(), None)
    if gateway is not None:
        await gateway.stop()
