"""MCP servers that are commands: a process for each session, spoken to over stdio."""

from __future__ import annotations

import asyncio
import itertools
import os
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from signal import SIGKILL, SIGTERM
from typing import Any, Final
from uuid import UUID, uuid4

import structlog
from django.conf import settings

from ..registry.queries import ServerRow
from ..registry.refusals import refusal
from . import methods, wire
from .answers import decoded, encoded
from .streamable_http import ANSWER_BYTES, Broken, NoSession, NotSent, Reply, Sending
from .wire import Message

log = structlog.get_logger("gatepost.mcp")
PROCESSES_MAX: Final = 50
# So long a program may take to end by itself, and then by a signal.
END_SECONDS: Final = 2.0
_END: Final[Message] = {}


class Process:
    """One program, and the requests that wait for its answers; all of one event loop."""

    def __init__(self, server: ServerRow, secret: str) -> None:
        self.used_at = time.monotonic()
        self._server, self._secret = server, secret
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Queue[Message]] = {}
        self._tokens: dict[str | int, int] = {}
        self._ready: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._stop = asyncio.Event()
        self._task = asyncio.create_task(self._live())

    @property
    def is_over(self) -> bool:
        """True once the program has ended."""
        return self._task.done()

    def speaks_for(self, server: ServerRow) -> bool:
        """True while the server is the one that was started."""
        old = self._server
        now = (server.command, server.credential, server.credential_to)
        return (old.command, old.credential, old.credential_to) == now

    @property
    def is_idle(self) -> bool:
        """True while no request waits."""
        return not self._waiting

    async def _live(self) -> None:
        """Start the program, read what it says until it ends or is stopped."""
        try:
            from mcp.client.stdio import get_default_environment
        except ImportError:
            why = "Servers that are commands need the extra `mcp`: pip install '.[mcp]'."
            self._ready.set_exception(NotSent(why))
            return
        program, *args = self._server.command
        carried = {self._server.credential_to: self._secret} if self._secret else {}
        process = None
        try:
            process = await asyncio.create_subprocess_exec(
                program,
                *args,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                env=get_default_environment() | carried,
                limit=ANSWER_BYTES,
                start_new_session=True,
            )
            self._ready.set_result(process.stdin)
            reader = asyncio.create_task(self._read(process.stdout))
            stopper = asyncio.create_task(self._stop.wait())
            await asyncio.wait((reader, stopper), return_when=asyncio.FIRST_COMPLETED)
            for task in (reader, stopper):
                task.cancel()
            await asyncio.gather(reader, stopper, return_exceptions=True)
        except (OSError, ValueError) as error:
            if not self._ready.done():
                self._ready.set_exception(NotSent(f"{program} can't be started: {error}"))
        except Exception:
            log.exception("mcp.command_failed", server=self._server.name)
        finally:
            if not self._ready.done():
                self._ready.set_exception(NotSent(f"{program} ended."))
            for queue in self._waiting.values():
                queue.put_nowait(_END)
            if process is not None:
                await _ended(process)

    async def _read(self, reading: Any) -> None:
        """Read lines, each a message; one that is none is left out."""
        while line := await reading.readline():
            message = decoded(line)
            if message is not None:
                await self._take(message)

    async def _take(self, message: Message) -> None:
        number = message.get("id")
        if "method" not in message:
            if type(number) is int and (queue := self._waiting.get(number)):
                queue.put_nowait(message)
        elif number is not None:
            # What it asks of its client has no way there: this answer is the end of it.
            pong: Message = {"jsonrpc": "2.0", "id": number, "result": {}}
            await self._write(pong if message["method"] == "ping" else methods.no_method(message))
        elif methods.passes_to_client(message):
            params = message.get("params")
            token = params.get("progressToken") if isinstance(params, dict) else None
            at = self._tokens.get(token) if isinstance(token, str | int) else None
            if at is not None and (queue := self._waiting.get(at)):
                queue.put_nowait(message)

    async def _write(self, message: Mapping[str, Any]) -> None:
        writing = await asyncio.shield(self._ready)
        try:
            writing.write(encoded(message) + b"\n")
            await writing.drain()
        except (ConnectionError, RuntimeError) as error:
            raise NotSent(f"{self._server.name} has ended.") from error

    @asynccontextmanager
    async def send(self, message: Message) -> AsyncIterator[AsyncIterator[Message]]:
        """Write a message; the messages that belong to it. Raises NotSent and Broken."""
        self.used_at = time.monotonic()
        if self.is_over:
            raise NotSent(f"{self._server.name} has ended.")
        if not wire.is_request(message):
            await self._write(message)
            yield _nothing()
            return
        number, ident = next(self._numbers), message["id"]
        queue: asyncio.Queue[Message] = asyncio.Queue()
        token = wire.meta_of(message).get("progressToken")
        await asyncio.shield(self._ready)
        self._waiting[number] = queue
        if isinstance(token, str | int):
            self._tokens[token] = number
        try:
            await self._write(message | {"id": number})
            yield self._answers(queue, ident)
        finally:
            self._waiting.pop(number, None)
            if isinstance(token, str | int):
                self._tokens.pop(token, None)
            self.used_at = time.monotonic()

    async def _answers(self, queue: asyncio.Queue[Message], ident: Any) -> AsyncIterator[Message]:
        try:
            async with asyncio.timeout(float(settings.GATEPOST_MCP_CALL_SECONDS)):
                while True:
                    message = await queue.get()
                    if not message:
                        raise Broken(f"{self._server.name} ended before it answered.")
                    if "method" in message:
                        yield message
                        continue
                    yield message | {"id": ident}
                    return
        except TimeoutError as error:
            raise Broken(f"{self._server.name} took too long.") from error

    async def stop(self) -> None:
        """End the program and wait for it."""
        self._stop.set()
        await asyncio.wait((self._task,))


async def _ended(process: asyncio.subprocess.Process) -> None:
    """End a program and all that it started: first by the end of its input."""
    if process.stdin is not None:
        process.stdin.close()
    for signal in (None, SIGTERM, SIGKILL):
        if signal is not None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal)
        with suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), END_SECONDS)
            return


async def _nothing() -> AsyncIterator[Message]:
    return
    yield _END


class CommandServers:
    """The programs of one event loop: by session, or by token for clients without sessions."""

    def __init__(self) -> None:
        self._processes: dict[tuple[UUID, str, str], Process] = {}

    @asynccontextmanager
    async def send(self, server: ServerRow, owner: str, sending: Sending) -> AsyncIterator[Reply]:
        """Send one message to the client's program, starting it where there is none."""
        if why := refusal(server):
            raise NotSent(why)
        message, session = sending.message, sending.session
        begins = message.get("method") == "initialize"
        if begins:
            session = uuid4().hex
        process = self._processes.get((server.id, owner, session))
        if process is not None and (process.is_over or not process.speaks_for(server)):
            await self._end((server.id, owner, session))
            process = None
        if process is None:
            if session and not begins:
                raise NoSession(f"{server.name} does not know the session; begin a new one.")
            await self._make_room()
            process = Process(server, sending.secret)
            self._processes[server.id, owner, session] = process
        async with process.send(message) as messages:
            yield Reply(200 if wire.is_request(message) else 202, session, messages)

    async def _make_room(self) -> None:
        if len(self._processes) < PROCESSES_MAX:
            return
        idle = [(p.used_at, key) for key, p in self._processes.items() if p.is_idle]
        if not idle:
            raise NotSent(f"{PROCESSES_MAX} programs are at work; try again in a while.")
        await self._end(min(idle)[1])

    async def _end(self, key: tuple[UUID, str, str]) -> None:
        if process := self._processes.pop(key, None):
            await process.stop()

    async def close_at(self, server: ServerRow, owner: str, session: str) -> int:
        """End the program of a session; the status for its client."""
        if not session or (server.id, owner, session) not in self._processes:
            return 404
        await self._end((server.id, owner, session))
        return 200

    async def look_after(self) -> None:
        """End programs that nobody has used for long."""
        until = time.monotonic() - float(settings.GATEPOST_MCP_IDLE_SECONDS)
        for key, process in list(self._processes.items()):
            if process.is_over or (process.is_idle and process.used_at < until):
                await self._end(key)

    async def close(self) -> None:
        """End all programs."""
        for key in list(self._processes):
            await self._end(key)
