"""Which items of two lists are the same thing: by a key, else by value; never by position alone.

The key of a list of objects is declared in its schema (`"x-key": "invoice"`), or it is a
field whose values are unique in both lists and meet, of several one with a usual name. Items
without a key belong together when they are equal; of the others those that follow equal neighbours
count as one item that was changed in place. Linear in the number of items.
"""

from __future__ import annotations

import json
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from .parties import ACCOUNTS


class _Missing:
    """Stands for "was not there", which is not the same as null."""


MISSING: Final = _Missing()
# Names of fields that are keys wherever they tell the items apart, first of all the first.
USUAL = ("id", "key", "invoice", "number", "line", "reference", "name")
SCALAR = (str, int)


@dataclass(frozen=True, slots=True)
class Pair:
    """One thing: how it is called, and its item in either list or MISSING."""

    label: str
    new: Any
    old: Any


def pairs(new: Sequence[Any], old: Sequence[Any], declared: str = "") -> list[Pair]:
    """Everything in either list once: in the new one's order, then what is gone."""
    key = identity(new, old, declared)
    return list(_keyed(new, old, key) if key else _by_value(new, old))


def reordered(new: Sequence[Any], old: Sequence[Any], declared: str = "") -> bool:
    """Whether what both lists have stands in another order."""
    key = identity(new, old, declared)
    ids = [[_identity(item, key) if key else text_of(item) for item in one] for one in (new, old)]
    both = set(ids[0]) & set(ids[1])
    kept = [[one for one in side if one in both] for side in ids]
    return kept[0] != kept[1]


def identity(new: Sequence[Any], old: Sequence[Any], declared: str = "") -> str:
    """The field that tells the objects of two lists apart; "" where none does."""
    if not new or not old or not all(isinstance(item, Mapping) for item in (*new, *old)):
        return ""
    if declared in new[0]:
        return declared if _in_common(new, old, declared) else ""
    for field in USUAL:
        if field in new[0] and _in_common(new, old, field):
            return field
    common = {field: _in_common(new, old, field) for field in new[0]}
    best = max(common, key=common.__getitem__, default="")
    return best if common.get(best) else ""


def _in_common(new: Sequence[Any], old: Sequence[Any], field: str) -> int:
    """How many values of a field both lists have; 0 where it is not unique in each."""
    sets = []
    for items in (new, old):
        seen = set()
        for item in items:
            value = item.get(field)
            if isinstance(value, bool) or not isinstance(value, SCALAR):
                return 0
            seen.add((type(value), value))
        if len(seen) < len(items):
            return 0
        sets.append(seen)
    return len(sets[0] & sets[1])


def _identity(item: Mapping[str, Any], key: str) -> tuple[type, Any]:
    return type(item[key]), item[key]


def _keyed(new: Sequence[Any], old: Sequence[Any], key: str) -> Iterator[Pair]:
    before = {_identity(item, key): item for item in old}
    for item in new:
        yield Pair(str(item[key]), item, before.pop(_identity(item, key), MISSING))
    for item in before.values():
        yield Pair(str(item[key]), MISSING, item)


def _by_value(new: Sequence[Any], old: Sequence[Any]) -> Iterator[Pair]:
    texts, former = [text_of(item) for item in new], [text_of(item) for item in old]
    # Equal items in the same place first: of several equal ones none seems to have moved.
    stayed = {n for n, (a, b) in enumerate(zip(texts, former, strict=False)) if a == b}
    match = {place: place for place in stayed}
    places: dict[str, deque[int]] = defaultdict(deque)
    for place, text in enumerate(former):
        if place not in stayed:
            places[text].append(place)
    for place, text in enumerate(texts):
        if place not in match and places[text]:
            match[place] = places[text].popleft()
    left = set(range(len(old))) - set(match.values())
    for place in range(len(new)):
        if place not in match:
            follows = match.get(place - 1, -2) + 1 if place else 0
            if follows in left:
                match[place] = follows
                left.discard(follows)
    for place, item in enumerate(new):
        yield Pair(str(place), item, old[match[place]] if place in match else MISSING)
    for place in sorted(left):
        yield Pair(str(place), MISSING, old[place])


def text_of(item: Any) -> str:
    """A value as JSON: unlike Python, it tells 1 from true."""
    return json.dumps(item, ensure_ascii=False, sort_keys=True)


def changed_fields(new: Any, old: Any) -> list[str]:
    """The fields that differ between two objects, accounts first; [] for anything else."""
    if not isinstance(new, Mapping) or not isinstance(old, Mapping):
        return []
    fields = [name for name in {**new, **old} if _differs(new, old, name)]
    return sorted(fields, key=lambda name: name not in ACCOUNTS)


def _differs(new: Mapping[str, Any], old: Mapping[str, Any], name: str) -> bool:
    return name not in new or name not in old or text_of(new[name]) != text_of(old[name])
