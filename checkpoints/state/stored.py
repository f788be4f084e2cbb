"""Reading back what this program wrote, several times as fast as what others sent; pure.

The parser is that of pydantic. It gives every integer as one and a number that no double can hold
as infinite, so numbers are looked at afterwards; what it refuses, the decoder of files judges.
"""

from __future__ import annotations

import math
from typing import Any

from pydantic_core import from_json

from ..errors import InvalidValue
from .values import MAX_INTEGER, decode_file

_AS_THEY_ARE = frozenset({str, bool, type(None)})


def decode(raw: str | bytes) -> Any:
    """Read stored JSON; an integer beyond 2^53 is the double it was before jsonb spelt it out.

    For canonical text or jsonb as the database spells it: neither has a key twice, NUL or lone
    surrogates, so those are not looked for. Bytes are UTF-8.
    """
    return with_doubles(parse(raw))


def parse(raw: str | bytes) -> Any:
    """As `decode`, with all numbers as they are spelt: `with_doubles` has to follow."""
    try:
        return from_json(raw, allow_inf_nan=False)
    except ValueError:
        # Refused, or only beyond what that parser takes: a number of thousands of digits.
        return decode_file(raw)


def with_doubles(value: Any) -> Any:
    """The value with each integer beyond 2^53 as a double, changed in place where it can be."""
    kind = type(value)
    if kind is dict or kind is list:
        _as_doubles(value)
        return value
    return _double(value) if kind is int or kind is float else value


def _as_doubles(value: Any) -> None:
    """Make integers beyond 2^53 the doubles they were, in place; refuse what is no double."""
    whole = type(value) is list
    if _AS_THEY_ARE.issuperset(map(type, value if whole else value.values())):
        return
    for key, item in enumerate(value) if whole else value.items():
        kind = type(item)
        if kind is dict or kind is list:
            _as_doubles(item)
        elif kind is int:
            if not -MAX_INTEGER <= item <= MAX_INTEGER:
                value[key] = _double(item)
        elif kind is float:
            _double(item)


def _double(number: float) -> float:
    """The number as `decode` reads it."""
    if type(number) is int and -MAX_INTEGER <= number <= MAX_INTEGER:
        return number
    try:
        result = float(number)
    except OverflowError:
        result = math.inf
    if math.isinf(result):
        raise InvalidValue("$", "the number is beyond the range of a double")
    return result
