"""Reading back what this program wrote, several times as fast as what others sent; pure.

The parser is that of pydantic. It gives every integer as one and a number that no double can hold
as infinite, so numbers are looked at afterwards; what it refuses, the decoder of the standard
library judges. Tests hold one against the other.
"""

from __future__ import annotations

import math
from typing import Any

from pydantic_core import from_json

from ..errors import InvalidValue
from .values import MAX_INTEGER, decode_own, utf8

_AS_THEY_ARE = frozenset({str, bool, type(None)})


def decode_stored(text: str | bytes) -> Any:
    """As `decode`, for canonical text or jsonb as the database spells it; bytes are UTF-8.

    Neither has a key twice, so that is not looked for.
    """
    try:
        value = from_json(text, allow_inf_nan=False)
    except ValueError:
        # Refused, or only beyond what that parser takes: a number of thousands of digits.
        return decode_own(text if isinstance(text, str) else utf8(text))
    kind = type(value)
    if kind is dict or kind is list:
        _as_doubles(value)
        return value
    return value if kind in _AS_THEY_ARE else _double(value)


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
        found = float(number)
    except OverflowError:
        found = math.inf
    if math.isinf(found):
        raise InvalidValue("$", "the number is beyond the range of a double")
    return found
