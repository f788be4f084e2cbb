"""The field that tells the items of two lists apart: declared in their schema, else found; pure.

The one rule for every comparison of lists: pages, differences and requests to do an effect again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

# Names of fields that are keys wherever they tell the items apart, first of all the first.
USUAL: Final = ("id", "key", "invoice", "number", "line", "reference", "name")
_IDENTIFIER: Final = re.compile(r"(.*_)?(id|uuid|key|number|no|ref|reference|invoice|sku)", re.I)

type Identity = tuple[type, str | int]


def list_key(
    new: Sequence[Any], old: Sequence[Any], declared: str = "", *, named_only: bool = False
) -> str:
    """The field that names the objects of both lists, no value of it twice in one; "" for none.

    A declared field comes first. Then one that is called as identifiers are, of several one under
    which items meet. Any other field names items only where some of them meet under it, and not at
    all with `named_only`.
    """
    if not new or not old or not (_are_objects(new) and _are_objects(old)):
        return ""
    if declared in new[0]:
        return declared if common(new, old, declared) is not None else ""
    first = ""
    for field in _named_as_keys(new[0]):
        meeting = common(new, old, field)
        if meeting:
            return field
        if meeting is not None:
            first = first or field
    if first or named_only:
        return first
    meets = {field: common(new, old, field) or 0 for field in new[0]}
    best = max(meets, key=meets.__getitem__, default="")
    return best if meets.get(best) else ""


def identity(item: Mapping[str, Any], key: str) -> Identity:
    """The identity of an item: 1 and "1" differ, and so do 1 and true."""
    return type(item[key]), item[key]


def _named_as_keys(item: Mapping[str, Any]) -> Iterator[str]:
    yield from (field for field in USUAL if field in item)
    yield from (f for f in item if f not in USUAL and _IDENTIFIER.fullmatch(f))


def common(new: Sequence[Any], old: Sequence[Any], field: str) -> int | None:
    """Count the values of a field that both lists have; None where it does not name every item."""
    sides: list[set[Identity]] = []
    for items in (new, old):
        if not _are_objects(items):
            return None
        # Lists of 10,000 items are usual: no call for each of them.
        values = [item.get(field) for item in items]
        kinds = {type(value) for value in values}
        if bool in kinds or "" in values or not all(issubclass(kind, str | int) for kind in kinds):
            return None
        seen = set(zip(map(type, values), values, strict=True))
        if len(seen) < len(items):
            return None
        sides.append(seen)
    return len(sides[0] & sides[1])


def _are_objects(items: Sequence[Any]) -> bool:
    if items and not isinstance(items[0], Mapping):
        return False
    return all(issubclass(kind, Mapping) for kind in {type(item) for item in items})


@dataclass(frozen=True, slots=True)
class Part:
    """The part of a JSON Schema that a value lies under; empty where nothing is known."""

    node: Mapping[str, Any]
    root: Mapping[str, Any]

    @classmethod
    def of(cls, schema: Any) -> Part:
        """The whole of a schema."""
        known = schema if isinstance(schema, Mapping) else {}
        return cls(known, known)

    def under(self, key: str) -> Part:
        """The part for a member; for an item of a list that of all items."""
        node = resolve(self.node, self.root)[0]
        inner = (node.get("properties") or {}).get(key, node.get("items"))
        if not isinstance(inner, Mapping):
            return Part({}, self.root)
        # The argument of a tool brings its definitions along.
        return Part(inner, inner if "$defs" in inner else self.root)

    @property
    def key(self) -> str:
        """The field that tells the items of this list apart, as the author declared it."""
        return str(self.node.get("x-key") or resolve(self.node, self.root)[0].get("x-key") or "")


def resolve(raw: Mapping[str, Any], schema: Mapping[str, Any]) -> tuple[Mapping[str, Any], bool]:
    """Follow $ref and "X or null"; (the part that says the type, whether null is allowed)."""
    part, nullable = raw, False
    for _ in range(8):
        if "$ref" in part:
            part = (schema.get("$defs") or {}).get(str(part["$ref"]).rpartition("/")[2], {})
        elif "anyOf" in part or "oneOf" in part:
            choices = part.get("anyOf") or part.get("oneOf") or []
            rest = [c for c in choices if c.get("type") != "null"]
            nullable = nullable or len(rest) < len(choices)
            if len(rest) != 1:
                break
            part = rest[0]
        elif isinstance(part.get("type"), list) and "null" in part["type"]:
            types = [t for t in part["type"] if t != "null"]
            nullable = True
            part = {**part, "type": types[0] if len(types) == 1 else types}
        else:
            break
    return part, nullable
