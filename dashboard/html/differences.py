"""Differences of two JSON values: counted and item by item, lists by their items' identity.

`Part` walks the JSON Schema beside the values, which may declare the key of a list.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from checkpoints.memories import is_ref
from checkpoints.state.encrypted import is_envelope
from checkpoints.state.list_keys import Part
from checkpoints.state.marked import is_mark
from dashboard.wording.parties import ACCOUNTS
from dashboard.wording.text import number

from . import list_pairs
from .list_pairs import MISSING

SHA256 = re.compile("[0-9a-f]{64}")
FILE_KEYS = {"$artifact", "name", "media_type", "size"}
ACCOUNT = "acc"
ALIKE_SHOWN = 40


@dataclass(frozen=True, slots=True)
class Changes:
    """Counts of values added, changed and removed; an item of a list is one value.

    `accounts` counts the changed values that say where money goes.
    """

    added: int
    changed: int
    removed: int
    accounts: int = 0

    @property
    def words(self) -> str:
        """The counts in a line, the most serious first; empty if nothing differs."""
        others = self.changed - self.accounts
        parts = [
            f"~ {number(self.accounts)} account{'' if self.accounts == 1 else 's'} changed",
            f"~ {number(others)} changed",
            f"+ {number(self.added)}",
            f"− {number(self.removed)}",
        ]
        counts = (self.accounts, others, self.added, self.removed)
        return ", ".join(part for part, n in zip(parts, counts, strict=True) if n)


def changes(new: Any, old: Any, schema: Mapping[str, Any] | None = None) -> Changes:
    """Count the outermost differences: a whole new object counts once, so does a changed item.

    Lists are compared by what their items are, see `list_keys`; `schema` may declare their keys.
    """
    marks = list(_differences(new, old, Part.of(schema)))
    accounts = marks.count(ACCOUNT)
    changed = marks.count("chg") + accounts
    return Changes(marks.count("add"), changed, marks.count("del"), accounts)


@dataclass(frozen=True, slots=True)
class ChangedChannels:
    """Two states without the channels that are the same in both, which `alike` names."""

    new: Any
    old: Any
    alike: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """The number of those that are the same and their names, as a line holds them; or empty."""
        names = ", ".join(self.alike[:ALIKE_SHOWN])
        more = ", …" if len(self.alike) > ALIKE_SHOWN else ""
        return f"{number(len(self.alike))} unchanged: {names}{more}" if self.alike else ""


def changed_channels(new: Any, old: Any, always: Collection[str] = ()) -> ChangedChannels:
    """Part two states by channel, `always` ones as if they differed; other values stay whole."""
    if not isinstance(new, Mapping) or not isinstance(old, Mapping):
        return ChangedChannels(new, old)
    alike = tuple(
        name
        for name, value in new.items()
        if name in old and name not in always and same(value, old[name])
    )
    after, before = (
        {name: value for name, value in state.items() if name not in alike} for state in (new, old)
    )
    return ChangedChannels(after, before, alike)


def _differences(new: Any, old: Any, part: Part) -> Iterator[str]:
    listed = isinstance(new, list)
    for key, after, before in differing(new, old, part):
        if before is MISSING:
            yield "add"
        elif after is MISSING:
            yield "del"
        elif same(after, before):
            continue
        elif container(after) and container(before) and type(after) is type(before):
            inner = _differences(after, before, part.under(key))
            if not listed:
                yield from inner
            elif results := list(inner):
                yield ACCOUNT if ACCOUNT in results else "chg"
        else:
            yield ACCOUNT if key in ACCOUNTS else "chg"


def pairs_of(new: Any, old: Any, part: Part) -> Iterator[tuple[str, Any, Any]]:
    """(key, new, old) of two objects or lists; lists by what their items are."""
    if isinstance(new, Mapping):
        before = old if isinstance(old, Mapping) else {}
        for key, value in new.items():
            yield str(key), value, before.get(key, MISSING)
        for key, value in before.items():
            if key not in new:
                yield str(key), MISSING, value
    elif not isinstance(new, list):
        return  # A plain value has no items.
    elif not isinstance(old, list):
        yield from ((str(i), value, MISSING) for i, value in enumerate(new))
    else:
        for pair in list_pairs.pairs(new, old, part.key):
            yield pair.label, pair.new, pair.old


def differing(new: Any, old: Any, part: Part) -> Iterator[tuple[str, Any, Any]]:
    """`pairs_of` without most of what did not change: what both share as one and the same object.

    Of a state beside its parent that is all but the delta between them.
    """
    if isinstance(new, list) and isinstance(old, list):
        start = list_pairs.shared(new, old)
        for pair in list_pairs.pairs_after(start, new, old, part.key):
            yield pair.label, pair.new, pair.old
    elif isinstance(new, Mapping) and isinstance(old, Mapping):
        # One loop in one frame: an object may have 10,000 members.
        yield from [
            (str(key), value, old.get(key, MISSING))
            for key, value in new.items()
            if old.get(key, MISSING) is not value
        ]
        yield from [(str(key), MISSING, value) for key, value in old.items() if key not in new]
    else:
        yield from pairs_of(new, old, part)


def container(value: Any) -> bool:
    """True for a value drawn by its items: a list or an object, no file, ciphertext, mark or
    memory."""
    is_leaf = is_file(value) or is_envelope(value) or is_mark(value) or is_ref(value)
    return isinstance(value, Mapping | list) and not is_leaf


def same(a: Any, b: Any) -> bool:
    """True if two values are the same JSON."""
    if a is b:
        return True
    if type(a) is not type(b) or a != b:
        return False
    return not isinstance(a, dict | list) or list_pairs.text_of(a) == list_pairs.text_of(b)


def is_file(value: Any) -> bool:
    """True if the value is a reference to an artifact and nothing else."""
    return (
        isinstance(value, Mapping)
        and value.keys() <= FILE_KEYS
        and bool(SHA256.fullmatch(str(value.get("$artifact", ""))))
    )


def change_mark(key: str, new: Any, old: Any, part: Part) -> str:
    """Mark an item as "add", "del" or "chg"; "" if it is the same."""
    if new is MISSING:
        return "del"
    if old is MISSING:
        return "add"
    return "chg" if any(_differences({key: new}, {key: old}, part)) else ""


def account_changed(pair: tuple[str, Any, Any]) -> bool:
    """True if an account differs: the value itself, or a field of an object that changed."""
    key, new, old = pair
    if new is MISSING or old is MISSING or same(new, old):
        return False
    fields = list_pairs.changed_fields(new, old)
    return key in ACCOUNTS or any(field in ACCOUNTS for field in fields)
