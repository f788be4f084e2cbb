"""How deltas become a state; pure. Also canonical JSON, the one decoder and the limits.

A delta is `{"set": {ch: v}, "append": {ch: [..]}, "merge": {ch: {..}}, "unset": [ch]}`; each
channel stands in one operation only. Refusals are `InvalidValue` with a JSON path: `$.a.b[3]`.
As stored it may also name values that lie elsewhere (see `references`); only a `Folder` of stored
deltas knows those.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypedDict, cast

from ..errors import InvalidValue
from .references import PUT, named
from .stored import decode
from .values import (
    LIMITS,
    MAX_INTEGER,
    NO_BYTES,
    Json,
    JsonObject,
    Limits,
    Refused,
    as_stored,
    at,
    canonical,
    check,
    check_size,
    copied,
    decode_file,
    decode_request,
    heaviest,
    is_exact,
)

__all__ = [
    "LIMITS",
    "MAX_INTEGER",
    "NO_BYTES",
    "Delta",
    "Folder",
    "Json",
    "JsonObject",
    "Limits",
    "Refused",
    "apply",
    "as_stored",
    "at",
    "canonical",
    "changed_channels",
    "check",
    "check_size",
    "copied",
    "decode",
    "decode_file",
    "decode_request",
    "delta_of_changes",
    "fold",
    "heaviest",
    "is_exact",
    "validate_delta",
]


class Delta(TypedDict, total=False):
    """The changes of one checkpoint; needs no agent code to apply."""

    set: JsonObject
    append: dict[str, list[Json]]
    merge: dict[str, JsonObject]
    unset: list[str]


_BODIES: dict[str, type] = {"set": dict, "append": dict, "merge": dict, "unset": list}
_ITEMS: dict[str, type] = {"append": list, "merge": dict}
_NOUNS: dict[type, str] = {list: "a list", dict: "an object"}


def _check_shape(delta: Mapping[str, Any]) -> None:
    """Refuse unknown operations, wrong types and a channel that stands in two operations."""
    for op, body in delta.items():
        if op not in _BODIES:
            names = ", ".join(_BODIES)
            raise InvalidValue(at("$", str(op)), f"unknown operation; there are {names}")
        if not isinstance(body, _BODIES[op]):
            raise InvalidValue(at("$", op), f"must be {_NOUNS[_BODIES[op]]}")
        if items := _ITEMS.get(op):
            for channel, payload in delta[op].items():
                if not isinstance(payload, items):
                    raise InvalidValue(at(at("$", op), channel), f"must be {_NOUNS[items]}")
    if len(delta) > 1 or "unset" in delta:
        seen: set[str] = set()
        for op, body in delta.items():
            for channel in body:
                if not isinstance(channel, str):
                    raise InvalidValue(at("$", op), "channels are named by strings")
                if channel in seen:
                    raise InvalidValue(at(at("$", op), channel), "the channel is named twice")
                seen.add(channel)


def validate_delta(obj: object, limits: Limits = LIMITS) -> Delta:
    """The object as a delta, or `InvalidValue`; values are checked as deep as in the state."""
    if not isinstance(obj, dict):
        raise InvalidValue("$", "a delta is an object")
    for op, body in obj.items():
        check(body, at("$", str(op)), limits)
    _check_shape(obj)
    return cast(Delta, obj)


def delta_of_changes(changes: Mapping[str, Any], limits: Limits = LIMITS) -> Delta:
    """The delta of a person's changes `{channel: new value}`: each value replaces the old one."""
    values = dict(changes)
    check(values, limits=limits)
    return {"set": values} if values else {}


def changed_channels(delta: Mapping[str, Any]) -> set[str]:
    """The channels that a delta changes."""
    return {channel for operation in delta.values() for channel in operation}


class Folder:
    """A state that grows by deltas, in time that does not depend on how much it holds.

    `state` is live: read it, never write to it. Lists and dicts that came from outside are copied
    before the first append or merge and grown in place afterwards; nothing given is ever mutated.

    `stored`: the deltas come from the store and belong to nobody else. Their shapes were checked
    when they were written, all is grown in place, and `put` leaves values to be filled in.
    """

    def __init__(self, base: Mapping[str, Any], *, stored: bool = False) -> None:
        self.state: dict[str, Any] = dict(base)
        self._stored = stored
        self._owned: set[str] = set()

    def add(self, *deltas: Mapping[str, Any], built: bool = False) -> None:
        """Apply deltas; a refused one (`InvalidValue`) leaves the state as it was before it.

        A stored one is refused where it cannot be applied at all, perhaps half-way. `built`:
        `build_delta` has just made them for this very state, so their shapes are right.
        """
        state, owned, own = self.state, self._owned, self._own
        try:
            for delta in deltas:
                if not (self._stored or built):
                    self._check(delta)
                for op, body in delta.items():
                    if op == "append":
                        for channel, items in body.items():
                            own(channel, list).extend(items)
                    elif op == "set":
                        state.update(body)
                        owned.difference_update(body)
                    elif op == "merge":
                        for channel, members in body.items():
                            own(channel, dict).update(members)
                    elif op == "unset":
                        for channel in body:
                            state.pop(channel, None)
                            owned.discard(channel)
                    elif op == PUT and self._stored:
                        state.update(named(body))
                    else:
                        raise InvalidValue(at("$", op), "unknown operation")
        except (AttributeError, TypeError, ValueError) as error:
            raise InvalidValue(
                "$", "a delta is not of the form in which deltas are kept"
            ) from error

    def _check(self, delta: Mapping[str, Any]) -> None:
        _check_shape(delta)
        for op, kind in _ITEMS.items():
            for channel in delta.get(op, ()):
                if not isinstance(self.state.get(channel, kind()), kind):
                    raise InvalidValue(
                        at("$", channel), f"the channel does not hold {_NOUNS[kind]}"
                    )

    def _own(self, channel: str, kind: type) -> Any:
        if channel not in self._owned:
            current = self.state.get(channel, ())
            # Nobody else has what comes from the store: `put` may even stand in for it.
            self.state[channel] = current if self._stored and current != () else kind(current)
            self._owned.add(channel)
        return self.state[channel]


def apply(state: Mapping[str, Any], delta: Mapping[str, Any]) -> dict[str, Any]:
    """The state after one delta: a new dict that shares what did not change."""
    return fold(state, (delta,))


def fold(
    base: Mapping[str, Any], deltas: Iterable[Mapping[str, Any]], *, stored: bool = False
) -> dict[str, Any]:
    """The state after many deltas, in time linear in what they hold; `stored` as in `Folder`."""
    folder = Folder(base, stored=stored)
    folder.add(*deltas)
    return folder.state
