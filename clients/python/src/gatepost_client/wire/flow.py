"""Work as a generator of commands: what is sent, awaited and called, without doing any of it.

The rules of this package are written once, as flows. `transports` performs a flow with threads or
in an event loop; both answer the same commands.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Send:
    """One HTTP request; it answers an `Answer` or raises `Disconnected`."""

    method: str
    path: str
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    timeout: float = 30.0


@dataclass(frozen=True)
class Answer:
    """A response: status, headers with lower-case names, decoded JSON or None."""

    status: int
    headers: Mapping[str, str]
    data: Any


class Disconnected(Exception):
    """A request had no answer; whether it was received is unknown."""


@dataclass(frozen=True)
class Sleep:
    """Let time pass."""

    seconds: float


@dataclass(frozen=True)
class Call:
    """Call a function of the user; it answers what the function returns."""

    function: Callable[..., Any]
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Enter:
    """Wait until no other flow is between `Enter` and `Leave` of this name."""

    name: str = ""


@dataclass(frozen=True)
class Leave:
    """Let the next flow enter."""

    name: str = ""


Command = Send | Sleep | Call | Enter | Leave
Flow = Generator[Command, Any, T]
