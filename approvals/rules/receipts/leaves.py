"""The single values of a proposal, and of anything that it is compared with, with their paths."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from checkpoints.state.values import at

from . import texts
from .dates import day_of, whole_date
from .numbers import whole_number
from .units import KEYS, unit_of, unit_of_key

LEAVES: Final = 2_000  # values of one proposal that are looked at
WRITTEN: Final = 40  # characters of a number or a date
KEY_MAX: Final = 80  # characters of a key that errors show in a path
_DIGIT: Final = re.compile(r"\d")
# (kind, value): `number`, `text`, `date`, `moment`, `day` (of a moment), `literal`.
type Form = tuple[str, Any]


@dataclass(frozen=True, slots=True)
class Leaf:
    """One value: where it is, the object that it is a member of, its key and its unit.

    `group` is the number of that object, the same for its members alone, and `row_of` the path of
    the list that it is an item of, if it is one. `own_unit`: the value itself names the unit; else
    a member beside it or above does.
    """

    path: str
    key: str
    group: int
    value: Any
    unit: str = ""
    own_unit: bool = False
    row_of: str = ""


def under(path: str, key: str | int) -> str:
    """The path of a member; never cut, so that each value has a path of its own."""
    if isinstance(key, str) and len(key) > KEY_MAX:
        return f"{path}[{json.dumps(key)}]"
    return at(path, key)


def leaves(proposal: Any) -> Iterator[Leaf]:
    """Each single value, in order; an empty list or object is one."""
    groups = 0
    stack: list[tuple[Any, str, str, int, str, str]] = [(proposal, "$", "", 0, "", "")]
    while stack:
        value, path, key, group, unit, row_of = stack.pop()
        if isinstance(value, Mapping) and value:
            groups += 1
            here = beside(value) or unit
            members = [(v, under(path, k), k, groups, here, row_of) for k, v in value.items()]
            stack.extend(reversed(members))
        elif isinstance(value, list) and value:
            items = [(v, at(path, n), key, group, unit, path) for n, v in enumerate(value)]
            stack.extend(reversed(items))
        else:
            own = unit_in(value)
            named = own or unit_of_key(key) or unit
            yield Leaf(path, key, group, value, named, bool(own), row_of)


def beside(record: Mapping[str, Any]) -> str:
    """The unit that a member of an object names for the numbers beside it."""
    for key in KEYS:
        if isinstance(word := record.get(key), str) and word:
            return unit_of(word) or word
    return ""


def unit_in(value: Any) -> str:
    """The unit that a text has behind or before its number."""
    if not isinstance(value, str):
        return ""
    number = whole_number(texts.normal(value))
    return "" if number is None else number.unit


def number_of(value: Any) -> Decimal | None:
    """A JSON number, or a text that is one; None for anything else."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        try:
            return Decimal(str(value))
        except InvalidOperation:
            return None
    if isinstance(value, str):
        number = whole_number(texts.normal(value))
        return None if number is None else number.value
    return None


def forms(value: Any, *, commas: bool = False) -> Iterator[Form]:
    """The normal forms of a value: two values are the same where they have one in common."""
    if value is None or isinstance(value, bool):
        yield "literal", value
    elif isinstance(value, int | float):
        if (number := number_of(value)) is not None:
            yield "number", number
    elif isinstance(value, str) and value.strip():
        text = texts.compact(texts.normal(value))
        yield "text", text
        if len(text) > WRITTEN or not _DIGIT.search(text):
            return
        if (written := whole_number(text, commas=commas)) is not None:
            yield "number", written.value
        if (day := whole_date(text)) is not None:
            kind = "moment" if hasattr(day, "hour") else "date"
            yield kind, day
            if kind == "moment":
                yield "day", day_of(text)
