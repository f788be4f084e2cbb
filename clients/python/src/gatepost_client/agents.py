"""`@agent`: a function whose steps are kept and whose effects wait for people."""

from __future__ import annotations

import asyncio
import inspect
import logging
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from functools import update_wrapper, wraps
from typing import Any, Generic, ParamSpec, TypeVar, cast, overload
from uuid import uuid4

from .current import Current, bound
from .record.declared import MODEL, RESERVED, WORK, describe_tools, named, names_of
from .record.lifecycle import Execution
from .record.values import listed, recordable
from .record.work import Work
from .wire import api
from .wire.errors import ClientError, NotConfigured, Stop, Waiting
from .wire.flow import Flow, Sleep
from .wire.settings import Settings
from .wire.transports import Awaiting, Blocking

P = ParamSpec("P")
R = TypeVar("R")
Json = dict[str, Any]
logger = logging.getLogger("gatepost_client")
LOOK_AGAIN_SECONDS = 5.0


class Agent(Generic[P, R]):
    """A function under control. Calling it starts its thread, or continues it by name."""

    def __init__(
        self,
        function: Callable[P, R],
        name: str,
        *,
        thread: str = "",
        version: int = 1,
        searchable: Sequence[str] = (),
        announce: Sequence[str] = (),
        wait: bool | float | None = None,
        settings: Settings | None = None,
    ) -> None:
        update_wrapper(self, function)
        self.function = function
        self.name = name
        self.thread = thread
        self.version = version
        self.searchable = listed(searchable, "searchable")
        self.announce = listed(announce, "announce")
        self._wait = wait
        self._configured = settings
        self.arguments = names_of(function)
        if taken := RESERVED.intersection(self.arguments):
            raise NotConfigured(f"{name!r} can't have an argument named {', '.join(taken)}.")
        if unknown := [one for one in self.searchable if one not in self.arguments]:
            raise NotConfigured(f"{name!r} has no argument named {', '.join(unknown)}.")

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Start the thread of these arguments, or continue the one of that name."""
        input = recordable(named(self.function, args, kwargs), f"What {self.name!r} is called with")
        body = {
            "agent": self.name,
            "name": self._name(input),
            "input": input,
            "external": self.describe(),
        }
        return cast("R", self._perform(lambda execution: execution.start(body)))

    def resume(self, thread: str) -> R:
        """Continue a thread by its id, such as a fork."""
        return cast("R", self._perform(lambda execution: execution.resume(thread)))

    def serve(self, *, once: bool = False) -> Any:
        """Work on every queued thread of this agent: forks, retries, decided ones, new ones.

        A thread that waits for people is left and taken again when they decided. `once` returns
        when no thread is queued.
        """
        return self._perform(lambda execution: self._serve(execution, once), wait=False)

    def describe(self) -> Json:
        """The agent's announcement."""
        return {
            "framework": "python",
            "version": self.version,
            "nodes": [WORK, MODEL],
            "channels": {"steps": "merge", "step_inputs": "merge", "refusals": "merge"},
            "tools": {**{name: {} for name in self.announce}, **describe_tools()},
            "message_channel": "messages",
            **({"searchable": self.searchable} if self.searchable else {}),
        }

    def _name(self, input: Mapping[str, Any]) -> str:
        if name := os.environ.get("GATEPOST_THREAD", ""):
            return name
        if self.thread:
            return self.thread.format(**input)
        return f"{datetime.now(timezone.utc):%Y-%m-%d %H:%M} {uuid4().hex[:8]}"

    def _settings(self, wait: bool | float | None) -> Settings:
        settings = self._configured or Settings.from_environment()
        chosen = self._wait if wait is None else wait
        return settings if chosen is None else replace(settings, wait=chosen)

    def _perform(
        self, flow_of: Callable[[Execution], Flow[Any]], wait: bool | float | None = None
    ) -> Any:
        settings = self._settings(wait)
        if inspect.iscoroutinefunction(self.function):
            return self._await(settings, flow_of)
        return self._block(settings, flow_of)

    def _execution(self, settings: Settings, transport: Blocking | Awaiting) -> Execution:
        @wraps(self.function)  # an error names the author's function
        def invoke(work: Work) -> Any:
            # From the state, not from the call: a person may have edited it.
            kwargs = {name: work.state[name] for name in self.arguments if name in work.state}
            return bound(Current(work, transport), self.function)(**kwargs)

        return Execution(settings, invoke, self.describe)

    def _block(self, settings: Settings, flow_of: Callable[[Execution], Flow[Any]]) -> Any:
        with Blocking(settings.url, settings.headers) as transport:
            execution = self._execution(settings, transport)
            keeping = execution.keep_lease(lambda: logger.error("%s", _loss_of(execution)))
            threading.Thread(target=transport.perform, args=(keeping,), daemon=True).start()
            return transport.perform(flow_of(execution))

    async def _await(self, settings: Settings, flow_of: Callable[[Execution], Flow[Any]]) -> Any:
        transport = Awaiting(settings.url, settings.headers)
        execution = self._execution(settings, transport)
        cancel = getattr(asyncio.current_task(), "cancel", bool)
        keeper = asyncio.create_task(transport.perform(execution.keep_lease(cancel)))
        try:
            return await transport.perform(flow_of(execution))
        except asyncio.CancelledError:
            if (loss := _loss_of(execution)) is not None:
                raise loss from None
            raise
        finally:
            keeper.cancel()
            await transport.close()

    def _serve(self, execution: Execution, once: bool) -> Flow[None]:
        while True:
            queued = yield from api.list_queued(self.name)
            for thread in queued:
                try:
                    yield from execution.resume(str(thread["id"]))
                except Waiting:
                    continue  # it says so itself
                except (Stop, ClientError) as stop:
                    logger.warning("%s: %s", thread["id"], stop)
                except Exception:
                    logger.exception("%s failed", thread["id"])
            if not queued:
                if once:
                    return
                yield Sleep(LOOK_AGAIN_SECONDS)


def _loss_of(execution: Execution) -> Stop | None:
    return None if execution.work is None else execution.work.loss


@overload
def agent(name: Callable[P, R], /) -> Agent[P, R]: ...
@overload
def agent(
    name: str = "",
    /,
    *,
    thread: str = "",
    version: int = 1,
    searchable: Sequence[str] = (),
    announce: Sequence[str] = (),
    wait: bool | float | None = None,
    settings: Settings | None = None,
) -> Callable[[Callable[P, R]], Agent[P, R]]: ...
def agent(
    name: Callable[P, R] | str = "",
    /,
    *,
    thread: str = "",
    version: int = 1,
    searchable: Sequence[str] = (),
    announce: Sequence[str] = (),
    wait: bool | float | None = None,
    settings: Settings | None = None,
) -> Agent[P, R] | Callable[[Callable[P, R]], Agent[P, R]]:
    """Put a function under control; `async def` as well.

    `thread` names its threads and may name arguments ("invoices-{month}"): a second call with the
    same name continues with what the first one left. `searchable` names up to eight arguments by
    whose values people find its threads, `announce` tools that are not known before it is called,
    such as those that it makes itself. `wait=False` leaves with exit code 75 where
    people have to decide; start it again later.
    """

    def declare(function: Callable[P, R]) -> Agent[P, R]:
        title = name if isinstance(name, str) and name else function.__name__.replace("_", "-")
        return Agent(
            function,
            title,
            thread=thread,
            version=version,
            searchable=searchable,
            announce=announce,
            wait=wait,
            settings=settings,
        )

    return declare(name) if callable(name) else declare
