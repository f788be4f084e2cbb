"""Which items of two lists are the same thing: by a key, else by value; objects never by place.

The key of a list of objects is that of `state.list_keys` where items meet under it, else a payee or
an account that names each item once. Objects without one belong together when they are equal: any
other one came or went. Of other items those that follow equal neighbours count as one that was
changed in place. Linear in the number of items; what both lists begin with, as one and the same
object, is counted and costs nothing else: so a long list and the list before it are compared by
what was appended.
"""

from __future__ import annotations

import json
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, Final

from checkpoints.state.list_keys import common, identity, list_key
from dashboard.wording.amounts import AMOUNTS
from dashboard.wording.parties import ACCOUNTS, PAYEES


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
    start = shared(new, old)
    key = _key_of(new, old, declared)
    same = (Pair(_label(item, n, key), item, item) for n, item in enumerate(new[:start]))
    return [*same, *_after(start, new, old, key)]


def shared(new: Sequence[Any], old: Sequence[Any]) -> int:
    """Count the items that both lists begin with, each the same object in both."""
    both = enumerate(zip(new, old, strict=False))
    return next((n for n, (a, b) in both if a is not b), min(len(new), len(old)))


def pairs_after(
    start: int, new: Sequence[Any], old: Sequence[Any], declared: str = ""
) -> Iterator[Pair]:
    """`pairs` without the first `start` ones, which are those of `shared`."""
    return _after(start, new, old, _key_of(new, old, declared))


def reordered(new: Sequence[Any], old: Sequence[Any], declared: str = "") -> bool:
    """True if items common to both lists, beyond what both begin with, are in a different order."""
    start = shared(new, old)
    if start in (len(new), len(old)):
        return False
    key = _key_of(new, old, declared)
    ids = [
        [identity(item, key) if key else text_of(item) for item in one[start:]]
        for one in (new, old)
    ]
    both_begin = sum(1 for _ in takewhile(lambda two: two[0] == two[1], zip(*ids, strict=False)))
    rest = [one[both_begin:] for one in ids]
    both = set(rest[0]) & set(rest[1])
    saved = [[one for one in side if one in both] for side in rest]
    return saved[0] != saved[1]


def _key_of(new: Sequence[Any], old: Sequence[Any], declared: str) -> str:
    """The field under which the items of both lists are paired; "" where none names them."""
    first = list_key(new, old, declared, named_only=True)
    if first and (first == declared or common(new, old, first)):
        return first
    # Another run of payments has other invoices, to payees of the last one.
    parties = (name for name in (*PAYEES, *ACCOUNTS) if common(new, old, name))
    return next(parties, "") or first or _named_by_text(new, old, declared)


def _named_by_text(new: Sequence[Any], old: Sequence[Any], declared: str) -> str:
    """Another field of texts that names most items: no amount, number or day is a name."""
    key = list_key(new, old, declared)
    if not key or key in AMOUNTS or 2 * (common(new, old, key) or 0) < min(len(new), len(old)):
        return ""
    texts = [item[key] for item in (*new, *old[shared(new, old) :])]
    if {type(text) for text in texts} != {str}:
        return ""
    nameless = [text for text in texts if not any(map(str.isalpha, text))]
    return "" if nameless else key


def _label(item: Any, index: int, key: str) -> str:
    return str(item[key]) if key else str(index)


def _after(start: int, new: Sequence[Any], old: Sequence[Any], key: str) -> Iterator[Pair]:
    match = _keyed if key else _by_value
    for index, item, before in match(new[start:], old[start:], key):
        yield Pair(_label(before if item is MISSING else item, start + index, key), item, before)


type _Match = tuple[int, Any, Any]  # an index, the new item, the old one


def _keyed(new: Sequence[Any], old: Sequence[Any], key: str) -> Iterator[_Match]:
    before = {identity(item, key): item for item in old}
    for index, item in enumerate(new):
        yield index, item, before.pop(identity(item, key), MISSING)
    for item in before.values():
        yield 0, MISSING, item


def _by_value(new: Sequence[Any], old: Sequence[Any], _: str) -> Iterator[_Match]:
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
            # Two objects are one thing by what names them, never because of where they stand.
            objects = follows in left and isinstance(old[follows], Mapping)
            if follows in left and not (objects and isinstance(new[index], Mapping)):
                match[index] = follows
                left.discard(follows)
    for index, item in enumerate(new):
        yield index, item, old[match[index]] if index in match else MISSING
    for index in sorted(left):
        yield index, MISSING, old[index]


def text_of(item: Any) -> str:
    """A value as JSON: unlike Python, it distinguishes 1 from true."""
    return json.dumps(item, ensure_ascii=False, sort_keys=True)


def changed_fields(new: Any, old: Any) -> list[str]:
    """The fields that differ between two objects, accounts first; [] for anything else."""
    if not isinstance(new, Mapping) or not isinstance(old, Mapping):
        return []
    others = [name for name in {**new, **old} if new.get(name, MISSING) is not old.get(name)]
    fields = [name for name in others if _differs(new, old, name)]
    return sorted(fields, key=lambda name: name not in ACCOUNTS)


def _differs(new: Mapping[str, Any], old: Mapping[str, Any], name: str) -> bool:
    return name not in new or name not in old or text_of(new[name]) != text_of(old[name])
