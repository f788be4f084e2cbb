"""JSON as somebody spelled it: read without loss, member by member; pure.

What reading would change (names that occur twice, more digits than a double has, more depth than a
parser takes) is `Raw`: its text, byte for byte.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from typing import Any, Final

from ..errors import InvalidValue
from .marked import Raw, mark
from .values import LIMITS, decode_request, is_exact

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
    # A zero of many digits is one with less of them; NaN equals nothing, and has no text here.
    if math.isinf(number) or (number == 0 and text.lower().partition("e")[0].strip("-.0")):
        raise _Loss
    if not is_exact(text, number):
        raise _Loss
    return number


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


def _items_of(text: str) -> Iterator[str]:
    """The items of a JSON list as spelled; raises ValueError."""
    depth, begin = 0, 0
    if not text.startswith("["):
        raise ValueError("no list")
    for token in _TOKENS.finditer(text):
        mark = text[token.start()]
        depth += (mark in "[{") - (mark in "]}")
        if depth == 1 and token.start() == 0:
            begin = token.end()
        elif (depth == 1 and mark == ",") or depth == 0:
            yield text[begin : token.start()]
            begin = token.end()
    if depth or text[begin:].strip():
        raise ValueError("no whole list")


def decode_with_exact(raw: bytes, names: Collection[str], *, of: str = "") -> Any:
    """Read a request of which some members are taken whatever they are; raises InvalidValue.

    All else is as strict as `decode_request`. Where that would refuse the request, these members
    come in their marked form. `of` names a list: its objects have the members, not the request.
    """
    try:
        return decode_request(raw)
    except InvalidValue as refusal:
        try:
            text = raw.decode()
            _check_grammar(text)
            if not of:
                rest, marked = _apart(text, names)
                return decode_request(rest.encode()) | marked
            spelled = members(text)
            items = [_apart(item, names) for item in _items_of(spelled[of])]
        except (ValueError, KeyError, RecursionError):
            raise refusal from None
    spelled[of] = f"[{','.join(rest for rest, _ in items)}]"
    request = decode_request(_object_of(spelled).encode())
    request[of] = [one | marked for one, (_, marked) in zip(request[of], items, strict=True)]
    return request


def _check_grammar(text: str) -> None:
    """Raise ValueError for what is no JSON text at all, such as one with a comma at an end."""
    with suppress(RecursionError):  # so deep a value is taken in its marked form
        json.loads(text, strict=False, parse_int=len, parse_float=len)


def _apart(text: str, names: Collection[str]) -> tuple[str, dict[str, Any]]:
    """(an object without these members, as spelled; these members in their marked form)."""
    spelled = members(text)
    marked = {name: mark(exact(spelled.pop(name))) for name in names if name in spelled}
    return _object_of(spelled), marked


def _object_of(spelled: Mapping[str, str]) -> str:
    return f"{{{','.join(f'{json.dumps(key)}:{text}' for key, text in spelled.items())}}}"
