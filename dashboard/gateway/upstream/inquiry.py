"""Asking a server for its tools, in either form of the protocol, for an admin who looks."""

from __future__ import annotations

import asyncio
from typing import Any, Final
from uuid import uuid4

from dashboard.errors import Conflict
from gatepost_command import __version__
from workers.authoring.errors import StepFailed
from workers.step.secret_values import masked, read_secret, without_secrets

from ..registry.queries import ServerRow
from ..registry.refusals import refusal
from . import wire
from .commands import CommandServers
from .streamable_http import Broken, HttpServers, NotSent, Sending, is_answer
from .wire import Message

MODERN: Final = "2026-07-28"
LEGACY: Final = "2025-06-18"
PAGES_MAX: Final = 50
# A person waits for it, in a thread of the web process.
SECONDS: Final = 45.0
US: Final = {"name": "gatepost", "version": __version__}


class Unanswered(Conflict):
    """A server did not say which tools it has."""

    code, title = "server-unanswered", "The MCP server didn’t answer"


def listed_tools(server: ServerRow) -> list[Any]:
    """The tools that a server lists now; blocking. Raises Unanswered."""
    if why := refusal(server):
        raise Unanswered(why)
    try:
        secret = read_secret(server.credential) if server.credential else ""
    except StepFailed as error:
        raise Unanswered(error.message) from error
    secrets = {secret} if secret else set()
    try:
        tools = asyncio.run(asyncio.wait_for(_Inquiry(server, secret).tools(), SECONDS))
        return [without_secrets(tool, secrets) for tool in tools]
    except TimeoutError as error:
        raise Unanswered(f"{server.name} took more than {SECONDS:.0f} seconds.") from error
    except (NotSent, Broken) as error:
        raise Unanswered(masked(str(error), secrets)) from error


class _Inquiry:
    """One look at a server, over connections of its own."""

    def __init__(self, server: ServerRow, secret: str) -> None:
        self._server, self._secret = server, secret
        self._session = self._protocol = ""

    async def tools(self) -> list[Any]:
        """All pages of its tools."""
        self._http, self._commands = HttpServers(), CommandServers()
        try:
            meta = {wire.VERSION: MODERN, wire.CAPABILITIES: {}, wire.META_CLIENT: US}
            try:
                return await self._pages({"_meta": meta})
            except (NotSent, Broken):
                await self._begin()
                return await self._pages({})
        finally:
            await self._commands.close()
            await self._http.close()

    async def _begin(self) -> None:
        """Begin a session, as servers before 2026-07-28 need one."""
        hello = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": US}
        result = await self._ask("initialize", hello)
        self._protocol = str(result.get("protocolVersion", LEGACY))
        await self._ask("notifications/initialized", {}, wants=False)

    async def _pages(self, params: Message) -> list[Any]:
        tools: list[Any] = []
        for _ in range(PAGES_MAX):
            result = await self._ask("tools/list", params)
            page = result.get("tools")
            tools += page if isinstance(page, list) else []
            if not result.get("nextCursor"):
                return tools
            params = {**params, "cursor": result["nextCursor"]}
        raise Broken(f"{self._server.name} lists no end of tools.")

    async def _ask(self, method: str, params: Message, *, wants: bool = True) -> Message:
        message: Message = {"jsonrpc": "2.0", "method": method, "params": params}
        if wants:
            message["id"] = uuid4().hex
        sending = Sending(message, self._session, self._protocol, self._secret)
        server = self._server
        where = (
            self._commands.send(server, "look", sending)
            if server.transport == "command"
            else self._http.send(server, sending)
        )
        async with where as reply:
            self._session = reply.session or self._session
            if not wants:
                return {}
            async for one in reply.messages:
                if is_answer(one, message["id"]):
                    result = one.get("result")
                    if isinstance(result, dict):
                        return result
                    error = one.get("error")
                    why = error.get("message") if isinstance(error, dict) else "it says no more"
                    raise NotSent(f"{server.name} refuses {method}: {why}")
        raise Broken(f"{server.name} ended its answer too early.")
