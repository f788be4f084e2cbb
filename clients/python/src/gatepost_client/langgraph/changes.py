"""What changed between two states, as the deltas of a record; and the way back."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

Json = dict[str, Any]


def difference(
    old: Mapping[str, Any], new: Mapping[str, Any], replaced: Collection[str] = ()
) -> Json:
    """The delta from one state to another; a list that only grew is appended to.

    Channels in `replaced` get their whole value.
    """
    delta: Json = {"set": {}, "append": {}, "unset": sorted(old.keys() - new.keys())}
    for channel, value in new.items():
        before = old.get(channel)
        if channel in old and _same(before, value):
            continue
        if channel not in replaced and _has_grown(before, value):
            delta["append"][channel] = value[len(before or ()) :]
        else:
            delta["set"][channel] = value
    return {operation: body for operation, body in delta.items() if body}


def _has_grown(before: Any, value: Any) -> bool:
    """Answer True if a list has only got more items."""
    if not isinstance(before, list) or not isinstance(value, list):
        return False
    return len(value) > len(before) and _same(value[: len(before)], before)


def _same(one: Any, other: Any) -> bool:
    """Equal as JSON: True is not 1."""
    if type(one) is not type(other):
        numbers = (int, float)
        return type(one) in numbers and type(other) in numbers and bool(one == other)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_same(v, other[k]) for k, v in one.items())
    if isinstance(one, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return bool(one == other)


def applied(state: Mapping[str, Any], delta: Mapping[str, Any]) -> Json:
    """The state after a delta; neither is changed, and what stays the same is shared."""
    result = dict(state)
    result.update(delta.get("set", {}))
    for channel, items in delta.get("append", {}).items():
        result[channel] = [*result.get(channel, ()), *items]
    for channel, members in delta.get("merge", {}).items():  # by other agents
        result[channel] = {**result.get(channel, {}), **members}
    for channel in delta.get("unset", ()):
        result.pop(channel, None)
    return result
