"""Two ways to perform a flow: with blocking calls, and in an event loop."""

from __future__ import annotations

import asyncio
import inspect
import json
import threading
from types import TracebackType
from typing import Any, TypeVar

import httpx

from .errors import ClientError
from .flow import Answer, Call, Command, Disconnected, Enter, Flow, Leave, Send, Sleep

T = TypeVar("T")


class Closed(Exception):
    """The transport is closed; whatever used it has ended."""


def _request(command: Send) -> dict[str, Any]:
    content = None if command.body is None else json.dumps(command.body, allow_nan=False).encode()
    headers = dict(command.headers)
    if content is not None:
        headers["Content-Type"] = "application/json"
    return {
        "method": command.method,
        "url": command.path,
        "content": content,
        "headers": headers,
        "timeout": command.timeout,
    }


def _answer(response: httpx.Response) -> Answer:
    try:
        data = response.json() if response.content else None
    except ValueError:
        data = None  # a proxy in between answers with a page
    return Answer(response.status_code, response.headers, data)


class Blocking:
    """Performs flows with blocking calls; several threads may use it at the same time."""

    def __init__(self, base_url: str, headers: dict[str, str]) -> None:
        self._http = httpx.Client(base_url=base_url, headers=headers)
        self._locks: dict[str, threading.Lock] = {}
        self._closed = threading.Event()

    def perform(self, flow: Flow[T]) -> T:
        """Perform the commands of a flow until it returns."""
        answer: Any = None
        error: BaseException | None = None
        while True:
            try:
                command = flow.send(answer) if error is None else flow.throw(error)
            except StopIteration as stop:
                result: T = stop.value
                return result
            answer = error = None
            try:
                answer = self._do(command)
            except BaseException as caught:
                error = caught

    def _do(self, command: Command) -> Any:
        if isinstance(command, Call):
            result = command.function(*command.args, **command.kwargs)
            if inspect.isawaitable(result):
                raise ClientError(f"{command.function!r} is async; its agent has to be `async def`")
            return result
        if isinstance(command, Sleep):
            if self._closed.wait(command.seconds):
                raise Closed
            return None
        if isinstance(command, Enter):
            return self._locks.setdefault(command.name, threading.Lock()).acquire()
        if isinstance(command, Leave):
            return self._locks[command.name].release()
        try:
            return _answer(self._http.request(**_request(command)))
        except httpx.TransportError as error:
            raise Disconnected(str(error) or type(error).__name__) from error

    def close(self) -> None:
        """Close all connections; flows that sleep end with Closed."""
        self._closed.set()
        self._http.close()

    def __enter__(self) -> Blocking:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


class Awaiting:
    """Performs flows in the event loop that calls it."""

    def __init__(self, base_url: str, headers: dict[str, str]) -> None:
        self._http = httpx.AsyncClient(base_url=base_url, headers=headers)
        self._locks: dict[str, asyncio.Lock] = {}

    async def perform(self, flow: Flow[T]) -> T:
        """Perform the commands of a flow until it returns."""
        answer: Any = None
        error: BaseException | None = None
        while True:
            try:
                command = flow.send(answer) if error is None else flow.throw(error)
            except StopIteration as stop:
                result: T = stop.value
                return result
            answer = error = None
            try:
                answer = await self._do(command)
            except BaseException as caught:
                error = caught

    async def _do(self, command: Command) -> Any:
        if isinstance(command, Call):
            result = command.function(*command.args, **command.kwargs)
            return await result if inspect.isawaitable(result) else result
        if isinstance(command, Sleep):
            return await asyncio.sleep(command.seconds)
        if isinstance(command, Enter):
            return await self._locks.setdefault(command.name, asyncio.Lock()).acquire()
        if isinstance(command, Leave):
            return self._locks[command.name].release()
        try:
            return _answer(await self._http.request(**_request(command)))
        except httpx.TransportError as error:
            raise Disconnected(str(error) or type(error).__name__) from error

    async def close(self) -> None:
        """Close all connections."""
        await self._http.aclose()
