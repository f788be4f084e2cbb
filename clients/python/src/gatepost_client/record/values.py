"""Values that can be recorded: JSON, checked with the path of what is not."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable
from typing import Any

from ..wire.errors import InvalidValue, NotConfigured

MAX_INTEGER = 2**53 - 1
MAX_DEPTH = 90


def recordable(value: Any, what: str) -> Any:
    """A copy of a value as the record gives it back: tuples are lists, 2.0 is 2.

    A step answers the same whether it was just called or its record is read. Raises InvalidValue.
    """
    return _copy(value, "$", what, MAX_DEPTH)


def outcome_of(returned: Any, what: str) -> tuple[dict[str, Any], InvalidValue | None]:
    """(the outcome of an effect that happened, the reason why its result is withheld).

    It stays `done` whatever it returned: reported as failed, it would be made again.
    """
    try:
        return {"state": "done", "result": recordable(returned, what)}, None
    except InvalidValue as refusal:
        return {"state": "done", "result": {"withheld": str(refusal)}}, refusal


def listed(names: Iterable[str], what: str) -> list[str]:
    """The names that a parameter has; raises NotConfigured for one text in their place."""
    if isinstance(names, str):
        raise NotConfigured(f"{what} takes a list of names: {what}=[{names!r}].")
    return list(names)


def _copy(value: Any, path: str, what: str, room: int) -> Any:
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        if abs(value) > MAX_INTEGER:
            raise InvalidValue(f"{what}: {path} is beyond 2^53; send it as a string")
        return int(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise InvalidValue(f"{what}: {path} is {value}, which is not JSON")
        return int(value) if value.is_integer() and abs(value) <= MAX_INTEGER else value
    if room == 0:
        raise InvalidValue(f"{what}: {path} is nested too deeply")
    if isinstance(value, (list, tuple)):
        return [_copy(v, f"{path}[{i}]", what, room - 1) for i, v in enumerate(value)]
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str):
                raise InvalidValue(f"{what}: {path} has a key of type {type(key).__name__}")
        return {k: _copy(v, f"{path}.{k}", what, room - 1) for k, v in value.items()}
    raise InvalidValue(f"{what}: {path} is a {type(value).__name__}, which is not JSON")


def digest(value: Any) -> str:
    """A short name for a recordable value: equal values have equal names."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]
