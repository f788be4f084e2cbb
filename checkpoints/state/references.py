"""Values of a channel that a stored delta only names; pure.

A delta as it is stored may hold one operation more than those of agents and people:
`{"put": {channel: {"sha256": hex, "size": bytes}}}` is a channel's whole value, kept elsewhere as
canonical JSON under its hash. It is no value, so nothing that somebody writes can become one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from ..errors import CorruptHistory, InvalidValue
from .stored import decode
from .values import at, canonical

PUT = "put"


@dataclass(slots=True)
class Elsewhere:
    """A value that lies elsewhere, and what was added to it since; stands in for it in a fold."""

    sha256: str
    size: int
    added: list[Any] = field(default_factory=list)

    def extend(self, items: list[Any]) -> None:
        """As a list would."""
        self.added.append(items)

    def update(self, members: dict[str, Any]) -> None:
        """As an object would."""
        self.added.append(members)


def named(body: Any) -> dict[str, Elsewhere]:
    """Read the references in a `put` operation, by channel; raises InvalidValue otherwise."""
    if not isinstance(body, dict):
        raise InvalidValue(at("$", PUT), "must be an object")
    results = {}
    for channel, payload in body.items():
        sha, size = (
            (payload.get("sha256"), payload.get("size")) if isinstance(payload, dict) else (None, 0)
        )
        if not isinstance(sha, str) or type(size) is not int:
            raise InvalidValue(at(at("$", PUT), channel), "names no content")
        results[channel] = Elsewhere(sha, size)
    return results


def moved_out(delta: Mapping[str, Any], limit: int) -> tuple[dict[str, Any], dict[str, bytes]]:
    """(the delta as it is stored, contents by hash): values of at least `limit` bytes move out."""
    here, put, contents = {}, {}, {}
    for channel, value in delta.get("set", {}).items():
        raw = canonical(value)
        if len(raw) < limit:
            here[channel] = value
            continue
        sha = sha256(raw).hexdigest()
        put[channel] = {"sha256": sha, "size": len(raw)}
        contents[sha] = raw
    if not put:
        return dict(delta), {}
    stored = {op: body for op, body in delta.items() if op != "set"}
    if here:
        stored["set"] = here
    return {**stored, PUT: put}, contents


def wanted(values: Iterable[Any]) -> dict[str, int]:
    """{hash: size} of the contents that are needed to fill these values."""
    sizes = {value.sha256: value.size for value in values if type(value) is Elsewhere}
    return dict(sorted(sizes.items()))


def fill(state: dict[str, Any], contents: Mapping[str, bytes]) -> None:
    """Put contents in the place of what stood in for them.

    Raises CorruptHistory for one that is missing or does not match its hash, InvalidValue where
    something was added that cannot be.
    """
    for channel, value in state.items():
        if type(value) is Elsewhere:
            state[channel] = _whole(channel, value, contents)


def resolved(delta: Mapping[str, Any], contents: Mapping[str, bytes]) -> dict[str, Any]:
    """A stored delta with the values that it names; raises as `fill`."""
    if PUT not in delta:
        return dict(delta)
    values: dict[str, Any] = dict(named(delta[PUT]))
    fill(values, contents)
    results = {op: body for op, body in delta.items() if op != PUT}
    return {**results, "set": {**results.get("set", {}), **values}}


def _whole(channel: str, elsewhere: Elsewhere, contents: Mapping[str, bytes]) -> Any:
    raw = contents.get(elsewhere.sha256)
    if raw is None:
        raise CorruptHistory(
            f"The content of channel {channel!r} ({elsewhere.sha256[:12]}) is missing."
        )
    if len(raw) != elsewhere.size or sha256(raw).hexdigest() != elsewhere.sha256:
        raise CorruptHistory(
            f"The content of channel {channel!r} ({elsewhere.sha256[:12]}) does not match its hash."
        )
    value = decode(raw)
    for more in elsewhere.added:
        if type(more) is not type(value):
            raise InvalidValue(at("$", channel), "what was added to it does not fit its kind")
        if isinstance(value, list):
            value.extend(more)
        else:
            value.update(more)
    return value
