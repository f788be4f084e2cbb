"""A stored delta that nobody of ours wrote is refused in a sentence, whatever Python says of it."""

from __future__ import annotations

import re
from typing import Any

from checkpoints.errors import InvalidValue
from checkpoints.state.deltas import Folder

RAW = re.compile(
    r"Error\b|has no attribute|not iterable|not subscriptable|unpack|argument|update sequence|"
    r"object is|convert"
)
OPERATIONS = ("set", "append", "merge", "unset", "put", "other")
BODIES: list[Any] = [None, 1, "x", ["a"], {"a": 1}, {"a": ["b"]}, [["a"]], [1], {"a": {"b": 1}}]


def refusal_of(delta: Any) -> str:
    """Why a state refuses a stored delta; empty where it takes it."""
    try:
        Folder({"a": 5}, stored=True).add(delta)
    except InvalidValue as error:
        return error.reason
    return ""


def test_it_is_applied_or_refused_in_a_sentence() -> None:
    deltas = [{operation: body} for operation in OPERATIONS for body in BODIES]
    reasons = {reason for delta in [*deltas, 1, "x", ["a"]] if (reason := refusal_of(delta))}
    assert "a delta is not of the form in which deltas are kept" in reasons
    assert not [reason for reason in reasons if RAW.search(reason)]
