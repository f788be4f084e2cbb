"""Which items of two lists are the same thing: by a key, else by value; never by position alone.

The key of a list of objects is that of `state.list_keys`, where some items meet under it.
Items without a key belong together when they are equal; of the others those that follow equal
neighbours count as one item that was changed in place. Linear in the number of items.
"""

from __future__ import annotations

import json
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from checkpoints.state.list_keys import identity, list_key
from dashboard.wording.parties import ACCOUNTS


class _Missing:
    """Stands for "was not there", which is not the same as null."""


MISSING: Final = _Missing()


@dataclass(frozen=True, slots=True)
class Pair:
    """One thing: how it is called, and its item in either list or MISSING."""

    label: str
    new: Any
    old: Any


def pairs(new: Sequence[Any], old: Sequence[Any], declared: str = "") -> list[Pair]:
    """Everything in either list once: in the new one's order, then what is gone."""
    key = _meeting_key(new, old, declared)
    return list(_keyed(new, old, key) if key else _by_value(new, old))


def reordered(new: Sequence[Any], old: Sequence[Any], declared: str = "") -> bool:
    """True if the items common to both lists are in a different order."""
    key = _meeting_key(new, old, declared)
    ids = [[identity(item, key) if key else text_of(item) for item in one] for one in (new, old)]
    both = set(ids[0]) & set(ids[1])
    saved = [[one for one in side if one in both] for side in ids]
    return saved[0] != saved[1]


def _meeting_key(new: Sequence[Any], old: Sequence[Any], declared: str) -> str:
    """The key of both lists; "" where no item meets another under it."""
    key = list_key(new, old, declared)
    if not key or not ({identity(x, key) for x in new} & {identity(x, key) for x in old}):
        return ""
    return key


def _keyed(new: Sequence[Any], old: Sequence[Any], key: str) -> Iterator[Pair]:
    before = {identity(item, key): item for item in old}
    for item in new:
        yield Pair(str(item[key]), item, before.pop(identity(item, key), MISSING))
    for item in before.values():
        yield Pair(str(item[key]), MISSING, item)


def _by_value(new: Sequence[Any], old: Sequence[Any]) -> Iterator[Pair]:
    texts, former = [text_of(item) for item in new], [text_of(item) for item in old]
    # Equal items at the same index first: of several equal ones none seems to have moved.
    stayed = {n for n, (a, b) in enumerate(zip(texts, former, strict=False)) if a == b}
    match = {index: index for index in stayed}
    indexes: dict[str, deque[int]] = defaultdict(deque)
    for index, text in enumerate(former):
        if index not in stayed:
            indexes[text].append(index)
    for index, text in enumerate(texts):
        if index not in match and indexes[text]:
            match[index] = indexes[text].popleft()
    left = set(range(len(old))) - set(match.values())
    for index in range(len(new)):
        if index not in match:
            follows = match.get(index - 1, -2) + 1 if index else 0
            if follows in left:
                match[index] = follows
                left.discard(follows)
    for index, item in enumerate(new):
        yield Pair(str(index), item, old[match[index]] if index in match else MISSING)
    for index in sorted(left):
        yield Pair(str(index), MISSING, old[index])


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
