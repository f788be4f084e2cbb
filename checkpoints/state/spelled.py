"""JSON as somebody spelled it: read without loss, member by member; pure.

What reading would change (names that occur twice, more digits than a double has, more depth than a
parser takes) is `Raw`: its text, byte for byte.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from ..errors import InvalidValue
from .marked import Raw, mark
from .values import LIMITS, decode_request

_TOKENS: Final = re.compile(r'"(?:[^"\\]+|\\.)*+"|[\[{\]},:]', re.DOTALL)
# Python reads no decimal text of more than 4,300.
DIGITS_MAX: Final = 1_000


class _Loss(Exception):
    """Reading this would lose some of it."""


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise _Loss
    return members


def _fraction(text: str) -> float:
    number = float(text)
    try:
        if Decimal(text) == Decimal(repr(number)):
            return number
    except InvalidOperation:
        pass
    raise _Loss


def _integer(text: str) -> int:
    if len(text) > DIGITS_MAX:
        raise _Loss
    return int(text)


_READER: Final = json.JSONDecoder(
    object_pairs_hook=_members, parse_float=_fraction, parse_int=_integer
)


def exact(text: str) -> Any:
    """The value of a JSON text, `Raw` where reading would lose some of it; raises ValueError."""
    if _depth(text) > LIMITS.max_depth:
        return Raw(text.strip())
    try:
        return _READER.decode(text)
    except (_Loss, RecursionError):
        return Raw(text.strip())


def _depth(text: str) -> int:
    if text.count("[") + text.count("{") <= LIMITS.max_depth:
        return 0
    depth = most = 0
    for token in _TOKENS.finditer(text):
        mark = text[token.start()]
        if mark in "[{":
            depth += 1
            most = max(most, depth)
        elif mark in "]}":
            depth -= 1
    return most


def members(text: str) -> dict[str, str]:
    """{name: its value as spelled} of a JSON object; raises ValueError, also for a name twice."""
    fields: dict[str, str] = {}
    if not text.lstrip().startswith("{"):
        raise ValueError("no object")
    for name, value in _members_of(text):
        if name in fields:
            raise ValueError(f"{name!r} occurs twice")
        fields[name] = value.strip()
    return fields


def _members_of(text: str) -> Iterator[tuple[str, str]]:
    depth, begin, name = 0, 0, None
    for token in _TOKENS.finditer(text):
        mark = text[token.start()]
        closes = mark in "]}"
        depth += (mark in "[{") - closes
        if (mark in "[{" and depth == 1) or (mark == ":" and depth == 1 and name is None):
            name = json.loads(text[begin : token.start()]) if mark == ":" else None
            begin = token.end()
        elif (mark == "," and depth == 1) or (closes and depth == 0):
            if isinstance(name, str):
                yield name, text[begin : token.start()]
            begin, name = token.end(), None
    if depth or text[begin:].strip():
        raise ValueError("no whole object")


def decode_with_exact(raw: bytes, name: str) -> Any:
    """Read a request of which one member is taken whatever it is; raises InvalidValue.

    All else is as strict as `decode_request`. Where that would refuse the member, it comes in its
    marked form.
    """
    try:
        return decode_request(raw)
    except InvalidValue as refusal:
        try:
            spelled = members(raw.decode())
            value = exact(spelled.pop(name))
        except (ValueError, KeyError, RecursionError):
            raise refusal from None
    rest = ",".join(f"{json.dumps(key)}:{text}" for key, text in spelled.items())
    return decode_request(f"{{{rest}}}".encode()) | {name: mark(value)}
