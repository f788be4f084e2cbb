"""How values join the channels of a state: one reducer per kind; pure.

`build_delta` turns the updates of one step into a delta. `Digests`, the state hash, is had here.
"""

from __future__ import annotations

import decimal
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from ..errors import InvalidValue
from .deltas import (
    LIMITS,
    Delta,
    Limits,
    as_stored,
    at,
    check,
    copied,
)
from .digests import Digests

__all__ = [
    "Append",
    "Custom",
    "Decimal",
    "Digests",
    "LastValue",
    "Merge",
    "Reducer",
    "Sum",
    "build_delta",
    "from_json",
    "reducers_of",
]

type Joined = tuple[Literal["set", "append", "merge"], Any]


@dataclass(frozen=True)
class Reducer(ABC):
    """Joins the updates of one step with a channel's current value (None: no value yet)."""

    name: ClassVar[str]

    @abstractmethod
    def join(self, current: Any, updates: Sequence[Any], channel: str) -> Joined:
        """The operation and payload for at least one update, in node order; mutates nothing.

        Raises `InvalidValue` at `$.<channel>` for what this kind of channel does not take.
        """

    def to_json(self) -> dict[str, Any]:
        """The form kept in AgentVersion.channels."""
        return {"reducer": self.name}


def _need(kind: type, what: str, current: Any, updates: Sequence[Any], channel: str) -> None:
    for value in updates if current is None else (current, *updates):
        if not isinstance(value, kind):
            raise InvalidValue(at("$", channel), f"takes {what}")


@dataclass(frozen=True)
class LastValue(Reducer):
    """The new value replaces the old one; one writer per step."""

    name: ClassVar[str] = "last_value"

    def join(self, current: Any, updates: Sequence[Any], channel: str) -> Joined:
        if len(updates) != 1:
            raise InvalidValue(
                at("$", channel),
                "written more than once in one step; give it a reducer that joins values",
            )
        return "set", updates[0]


@dataclass(frozen=True)
class Append(Reducer):
    """A list that grows: each update is a list of new items."""

    name: ClassVar[str] = "append"

    def join(self, current: Any, updates: Sequence[Any], channel: str) -> Joined:
        _need(list, "lists of items to append", current, updates, channel)
        items = [item for update in updates for item in update]
        return ("set" if current is None else "append"), items


@dataclass(frozen=True)
class Merge(Reducer):
    """An object that gains members; of equal keys the later node's wins, whole (not merged)."""

    name: ClassVar[str] = "merge"

    def join(self, current: Any, updates: Sequence[Any], channel: str) -> Joined:
        _need(dict, "objects to merge", current, updates, channel)
        members = {key: value for update in updates for key, value in update.items()}
        return ("set" if current is None else "merge"), members


@dataclass(frozen=True)
class Sum(Reducer):
    """A number that each update adds to; for money take `Decimal` or integer minor units."""

    name: ClassVar[str] = "sum"

    def join(self, current: Any, updates: Sequence[Any], channel: str) -> Joined:
        total: int | float = 0
        for number in (0 if current is None else current, *updates):
            if type(number) is not int and type(number) is not float:
                raise InvalidValue(at("$", channel), "takes numbers")
            total += number
        check(total, at("$", channel))
        return "set", total


_AMOUNT = re.compile(r"-?(0|[1-9][0-9]{0,99})(\.[0-9]{1,90})?")
_EXACT = decimal.Context(prec=200)  # more digits than two such amounts need: nothing is rounded


@dataclass(frozen=True)
class Decimal(Reducer):
    """An amount as a decimal string such as `"-12.50"`; each update is added exactly."""

    name: ClassVar[str] = "decimal"

    def join(self, current: Any, updates: Sequence[Any], channel: str) -> Joined:
        total = decimal.Decimal(0)
        for amount in ("0" if current is None else current, *updates):
            if not isinstance(amount, str) or not _AMOUNT.fullmatch(amount):
                raise InvalidValue(at("$", channel), 'takes decimal strings such as "12.50"')
            total = _EXACT.add(total, decimal.Decimal(amount))
        text = f"{total:f}"
        if not _AMOUNT.fullmatch(text):
            raise InvalidValue(at("$", channel), "the amount has too many digits")
        return "set", text


@dataclass(frozen=True)
class Custom(Reducer):
    """`fn(current, update) -> new value`, called per update; its result is stored as `set`."""

    name: ClassVar[str] = "custom"
    fn: Callable[[Any, Any], object] | None = None

    def join(self, current: Any, updates: Sequence[Any], channel: str) -> Joined:
        if self.fn is None:
            raise InvalidValue(at("$", channel), "the code of its reducer is not loaded here")
        value: Any = current
        for update in updates:
            # Copies, since a function that changes its arguments would change states of the past.
            value = self.fn(copied(value), copied(update))
            check({channel: value})
        return "set", value


_KINDS: dict[str, type[Reducer]] = {
    kind.name: kind for kind in (LastValue, Append, Merge, Sum, Decimal, Custom)
}


def from_json(stored: object) -> Reducer:
    """The reducer of one entry `{"reducer": name, ...}` of AgentVersion.channels."""
    name = stored.get("reducer") if isinstance(stored, dict) else None
    if not isinstance(name, str) or name not in _KINDS:
        raise InvalidValue("$.reducer", f"unknown reducer; there are {', '.join(_KINDS)}")
    return _KINDS[name]()


def reducers_of(channels: Mapping[str, object]) -> dict[str, Reducer]:
    """The reducers of a whole AgentVersion.channels; what a `Custom` does is not among them."""
    return {channel: from_json(stored) for channel, stored in channels.items()}


def build_delta(
    state: Mapping[str, Any],
    updates: Sequence[tuple[str, Any]],
    reducers: Mapping[str, Reducer],
    *,
    limits: Limits = LIMITS,
) -> Delta:
    """The delta of one step from `(node, {channel: value})` pairs in node order.

    Raises `InvalidValue` for values that are not storable JSON, unknown channels and what a reducer
    refuses. Values are as the store gives them back. Channels come sorted; an append or merge of
    nothing is left out.
    """
    gathered: dict[str, tuple[list[str], list[Any]]] = {}
    for node, update in updates:
        try:
            check(update, limits=limits)
            if not isinstance(update, dict):
                raise InvalidValue("$", "an update is an object of channels")
        except InvalidValue as error:
            raise _blaming(error, [node]) from None
        for channel, value in update.items():
            nodes, values = gathered.setdefault(channel, ([], []))
            nodes.append(node)
            values.append(value)
    delta: Delta = {}
    changes: Any = delta  # by an operation that a reducer names
    for channel, (nodes, values) in sorted(gathered.items()):
        try:
            if channel not in reducers:
                raise InvalidValue(at("$", channel), "the state has no such channel")
            op, payload = reducers[channel].join(state.get(channel), values, channel)
        except InvalidValue as error:
            raise _blaming(error, nodes) from None
        if op == "set" or payload:
            changes.setdefault(op, {})[channel] = as_stored(payload)
    return delta


def _blaming(error: InvalidValue, nodes: Sequence[str]) -> InvalidValue:
    return InvalidValue(error.path, f"{error.reason} (returned by {', '.join(nodes)})")
