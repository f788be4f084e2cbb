"""Which agent is at work in the code that is called now, and how its flows are performed."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from functools import wraps
from typing import Any, TypeVar

from .record.work import Work
from .wire.errors import ClientError, NotConfigured, Stop, Suspended, Waiting
from .wire.flow import Flow
from .wire.transports import Awaiting, Blocking

T = TypeVar("T")


@dataclass(frozen=True)
class Current:
    """An agent at work; `part` is the step or effect whose function is being called."""

    work: Work
    transport: Blocking | Awaiting
    part: str = ""


_current: ContextVar[Current | None] = ContextVar("gatepost_client", default=None)


def current() -> Current | None:
    """The agent at work, None outside of one."""
    return _current.get()


def bound(scope: Current, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, called with `scope` as what is current."""
    if inspect.iscoroutinefunction(function):

        @wraps(function)
        async def awaited(*args: Any, **kwargs: Any) -> Any:
            former = _current.set(scope)
            try:
                return await function(*args, **kwargs)
            finally:
                _current.reset(former)

        return awaited

    @wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        former = _current.set(scope)
        try:
            return function(*args, **kwargs)
        finally:
            _current.reset(former)

    return called


def part(scope: Current, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function of a step or an effect: what it calls in turn is not recorded by itself."""
    return bound(Current(scope.work, scope.transport, name), function)


def required(what: str) -> Current:
    """The agent at work; raises NotConfigured where there is none, or inside of a step."""
    scope = _current.get()
    if scope is None:
        raise NotConfigured(f"{what} works only inside a function with @agent.")
    if scope.part:
        raise NotConfigured(f"{what} works only in the agent itself, not inside {scope.part!r}.")
    return scope


def perform(scope: Current, flow: Flow[T]) -> T:
    """Perform a flow of an agent that is a plain function."""
    if not isinstance(scope.transport, Blocking):
        raise NotConfigured("This agent is `async def`: its steps, effects and questions are too.")
    try:
        return scope.transport.perform(flow)
    except (ClientError, Stop) as error:
        raise error.with_traceback(None) from error.__cause__  # without the way through us


async def settle(scope: Current, flow: Flow[T]) -> T:
    """Perform a flow from inside of an event loop, of whichever kind the agent is."""
    try:
        if isinstance(scope.transport, Blocking):
            return scope.transport.perform(flow)  # the agent runs its loop itself and waits for it
        return await scope.transport.perform(flow)
    except Waiting as waiting:
        raise Suspended(waiting.reason) from None


async def await_(scope: Current, flow: Flow[T]) -> T:
    """Perform a flow of an agent that is `async def`."""
    if not isinstance(scope.transport, Awaiting):
        raise NotConfigured("This agent is a plain function: use what is not async.")
    try:
        return await scope.transport.perform(flow)
    except (ClientError, Stop) as error:
        raise error.with_traceback(None) from error.__cause__
