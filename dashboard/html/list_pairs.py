"""Which items of two lists are the same thing: by a key, else by value; objects never by place.

The key of a list of objects is that of `state.list_keys` where items meet under it, else a payee or
an account that names each item once. Objects without one belong together when they are equal: any
other one came or went. Of other items those that follow equal neighbours count as one that was
changed in place. Linear in the number of items.
"""

from __future__ import annotations

import json
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
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
    key = _key_of(new, old, declared)
    return list(_keyed(new, old, key) if key else _by_value(new, old))


def reordered(new: Sequence[Any], old: Sequence[Any], declared: str = "") -> bool:
    """True if the items common to both lists are in a different order."""
    key = _key_of(new, old, declared)
    ids = [[identity(item, key) if key else text_of(item) for item in one] for one in (new, old)]
    both = set(ids[0]) & set(ids[1])
    saved = [[one for one in side if one in both] for side in ids]
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
    is_name = all(isinstance(x[key], str) and any(map(str.isalpha, x[key])) for x in (*new, *old))
    return key if is_name else ""


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
            # Two objects are one thing by what names them, never because of where they stand.
            objects = follows in left and isinstance(old[follows], Mapping)
            if follows in left and not (objects and isinstance(new[index], Mapping)):
                match[index] = follows
                left.discard(follows)
    for index, item in enumerate(new):
        yield Pair(str(index), item, old[match[index]] if index in match else MISSING)
    for index in sorted(left):
        yield Pair(str(index), MISSING, old[index])


def text_of(item: Any) -> str:
    """A value as JSON: unlike Python, it distinguishes 1 from true."""
    return json.dumps(item, ensure_ascii=False, sort_keys=True)


def changed_fields(new: Any, old: Any) -> list[str]:
    """The fields that differ between two objects, accounts first; [] for anything else."""
    if not isinstance(new, Mapping) or not isinstance(old, Mapping):
        return []
    fields = [name for name in {**new, **old} if _differs(new, old, name)]
    return sorted(fields, key=lambda name: name not in ACCOUNTS)


def _differs(new: Mapping[str, Any], old: Mapping[str, Any], name: str) -> bool:
    return name not in new or name not in old or text_of(new[name]) != text_of(old[name])
