"""A comparison in a few lines: which input differs, which values moved; pure.

A list is named by its length, an object by the number of its differences, long text by its length:
the states themselves stand below.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

from dashboard.drawing import differences
from dashboard.wording.savings import counted
from dashboard.wording.sentences import as_text
from dashboard.wording.text import cut

SHOWN: Final = 12
CHARS: Final = 80
MISSING: Final = "nothing"


@dataclass(frozen=True, slots=True)
class Changed:
    """One channel that differs, both sides as short text."""

    name: str
    left: str
    right: str


def changed_values(
    old: Mapping[str, Any],
    new: Mapping[str, Any],
    *,
    without: Collection[str] = (),
) -> list[Changed]:
    """The channels whose values differ, in the order of the states, plain values first."""
    names = [name for name in dict.fromkeys([*old, *new]) if name not in without]
    changed = [
        (
            isinstance(old.get(name), dict | list) or isinstance(new.get(name), dict | list),
            _changed(name, old, new),
        )
        for name in names
        if name not in old or name not in new or not differences.same(new[name], old[name])
    ]
    return [one for _, one in sorted(changed, key=lambda pair: pair[0])]


def _changed(name: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Changed:
    before, after = old.get(name), new.get(name)
    left, right = (_short(state, name) for state in (old, new))
    if left == right or (isinstance(before, dict) and isinstance(after, dict)):
        right = differences.changes(after, before).words or "other text"
        left = ""
    return Changed(name, left, right)


def _short(state: Mapping[str, Any], name: str) -> str:
    if name not in state or state[name] in (None, "", [], {}):
        return MISSING
    value = state[name]
    if isinstance(value, list):
        return counted(len(value), "item")
    if isinstance(value, dict):
        return counted(len(value), "value")
    text = as_text(value)
    return counted(len(text), "character") if len(text) > CHARS else cut(text, at_most=CHARS)
