"""A comparison in a few lines: which input differs, which values moved; pure.

Of an object the plain values that differ are named; a list is named by its length, everything else
by the number of its differences, long text by its length: the states themselves stand below.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from dashboard.html import differences
from dashboard.wording.savings import counted
from dashboard.wording.sentences import as_text
from dashboard.wording.text import cut

SHOWN: Final = 12
LEAVES: Final = 3  # plain values named of one object
CHARS: Final = 80
MISSING: Final = "nothing"
_DIGEST: Final = re.compile(r"[0-9a-f-]{32,}")


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
    plain: list[Changed] = []
    others: list[Changed] = []
    for name in names:
        if name in old and name in new and differences.same(new[name], old[name]):
            continue
        before, after = old.get(name), new.get(name)
        if not isinstance(before, dict | list) and not isinstance(after, dict | list):
            plain.append(_changed(name, old, new))
            continue
        leaves = _leaves(name, before, after)
        plain += leaves
        if not leaves:
            others.append(_changed(name, old, new))
    return plain + others


def _leaves(name: str, before: Any, after: Any) -> list[Changed]:
    """The first plain values that differ between two objects, named by their path."""
    if not isinstance(before, dict) or not isinstance(after, dict):
        return []
    changed = [
        replace(_changed(key, before, after), name=f"{name}.{key}")
        for key in dict.fromkeys([*before, *after])
        if not any(_is_unreadable(side.get(key)) for side in (before, after))
        and (key not in before or key not in after or before[key] != after[key])
    ]
    return changed[:LEAVES]


def _is_unreadable(value: Any) -> bool:
    """Answer True for a list, an object, a hash or an id: nothing that a short line can show."""
    is_digest = isinstance(value, str) and _DIGEST.fullmatch(value) is not None
    return is_digest or isinstance(value, dict | list)


def _changed(name: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Changed:
    before, after = old.get(name), new.get(name)
    left, right = (_short(state, name) for state in (old, new))
    if left == right or (isinstance(before, dict) and isinstance(after, dict)):
        right = differences.changes(after, before).words or "other text"
        left = ""
    return Changed(name, left, right)


def _short(state: Mapping[str, Any], name: str) -> str:
    value = state.get(name)
    if value is None:
        return MISSING
    if value in ("", [], {}):
        return "empty"
    if isinstance(value, list):
        return counted(len(value), "item")
    if isinstance(value, dict):
        return counted(len(value), "value")
    text = as_text(value)
    return counted(len(text), "character") if len(text) > CHARS else cut(text, at_most=CHARS)
