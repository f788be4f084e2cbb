"""What a value may be, its canonical bytes, the limits, and the one decoder; pure.

Every refusal is an `InvalidValue` with a JSON path such as `$.a.b[3]`. Other modules import these
names from `checkpoints.state.deltas`.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, cast

import rfc8785

from ..errors import InvalidValue

type Json = bool | int | float | str | list[Json] | dict[str, Json] | None
type JsonObject = dict[str, Json]


@dataclass(frozen=True, slots=True)
class Limits:
    """Upper bounds: sizes in bytes of canonical or sent JSON, keys in characters."""

    max_depth: int = 100
    key_chars: int = 1_000
    state_bytes: int = 8 * 1024 * 1024
    state_warn_bytes: int = 1024 * 1024
    event_bytes: int = 256 * 1024
    request_bytes: int = 5 * 1024 * 1024


LIMITS = Limits()
# The last integer that a double distinguishes from its neighbours: 2^53 could have been 2^53 + 1.
MAX_INTEGER = 2**53 - 1
# Deltas and events wrap a value of the full depth in a few layers of their own.
_WRAPPED_DEPTH = LIMITS.max_depth + 20
TOO_DEEP = "nested too deeply, or contains itself"
NO_BYTES = (
    "bytes have no JSON; they belong into a file (ctx.artifact), or into a text such as base64"
)
_TOO_LARGE = "an integer beyond 2^53 loses digits in JSON; send it as a string"
_TOO_LONG = "the number has more digits than a double keeps; send it as a string"
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def at(path: str, key: str | int) -> str:
    """The JSON path of a member: `$.name`, `$[3]`, or `$["a b"]` for a key that is no name."""
    if isinstance(key, int):
        return f"{path}[{key}]"
    shown = key if len(key) <= 80 else key[:80] + "..."
    return f"{path}.{key}" if _PLAIN_NAME.fullmatch(shown) else f"{path}[{json.dumps(shown)}]"


# --- what a value may be ----------------------------------------------------------------------


class Refused:
    """Stands in a value where a part of it was refused, so that the walk names its path."""

    def __init__(self, message: str) -> None:
        self.message = message


class _Fault:
    """A refusal on its way out of the walk: each level adds its own key, innermost first."""

    def __init__(self, message: str) -> None:
        self.message = message
        self.keys: list[str | int] = []

    def error(self, path: str) -> InvalidValue:
        for key in reversed(self.keys):
            path = at(path, key)
        return InvalidValue(path, self.message)


def _text_fault(text: str) -> str:
    """Explain why this text cannot be stored; "" if it can."""
    if "\0" in text:
        return "a NUL character cannot be stored"
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            return "half of a surrogate pair is not a character"
    return ""


def _walk(value: Any, depth: int, key_chars: int, odd: set[str]) -> _Fault | None:
    """The first fault inside, or None; `odd` names what the stdlib writes unlike RFC 8785.

    Types are compared exactly: a subclass (an enum, a frozen list) would come back as another one.
    """
    kind = type(value)
    if kind is str:
        if value.isascii() and "\0" not in value:
            return None
        message = _text_fault(value)
        return _Fault(message) if message else None
    if value is None or kind is bool:
        return None
    if kind is int:
        return None if -MAX_INTEGER <= value <= MAX_INTEGER else _Fault(_TOO_LARGE)
    if kind is float:
        if not math.isfinite(value):
            return _Fault("NaN and infinities are not JSON")
        if value.is_integer() and -MAX_INTEGER <= value <= MAX_INTEGER:
            odd.add("whole")  # 2.0, which RFC 8785 writes as 2
        elif not 1e-4 <= abs(value) <= MAX_INTEGER:
            odd.add("number")  # repr takes the exponent for other numbers than ECMAScript
        return None
    if kind is Refused:
        return _Fault(value.message)
    if kind is not dict and kind is not list:
        return _Fault(NO_BYTES if kind is bytes else f"{kind.__name__} is not a JSON type")
    if depth == 0:
        return _Fault(TOO_DEEP)
    if kind is list:
        for index, item in enumerate(value):
            # What many items are, without the cost of a call.
            if type(item) is str and item.isascii() and "\0" not in item:
                continue
            if fault := _walk(item, depth - 1, key_chars, odd):
                fault.keys.append(index)
                return fault
        return None
    try:
        keys = "".join(value)
    except TypeError:
        keys = "\0"  # the loop names the first that is no text
    plain_keys = keys.isascii() and len(keys) <= key_chars and "\0" not in keys
    for key, item in value.items():
        if type(key) is not str:
            return _Fault(f"a key of type {type(key).__name__}; keys are strings")
        kind = type(item)
        if plain_keys:
            # What nearly every member is, without the cost of a call.
            if kind is str:
                if item.isascii() and "\0" not in item:
                    continue
            elif kind is int:
                if -MAX_INTEGER <= item <= MAX_INTEGER:
                    continue
            elif item is None or kind is bool:
                continue
            fault = _walk(item, depth - 1, key_chars, odd)
        else:
            fault = _key_fault(key, key_chars, odd) or _walk(item, depth - 1, key_chars, odd)
        if fault:
            fault.keys.append(key)
            return fault
    return None


def _key_fault(key: str, key_chars: int, odd: set[str]) -> _Fault | None:
    if len(key) > key_chars:
        return _Fault(f"the key is longer than {key_chars} characters")
    if key.isascii() and "\0" not in key:
        return None
    if max(key) > "\uffff":
        odd.add("key")  # beyond the basic plane UTF-16 units sort otherwise than code points
    message = _text_fault(key)
    return _Fault(f"in the key: {message}") if message else None


def check(value: object, path: str = "$", limits: Limits = LIMITS) -> None:
    """Refuse what JSON or PostgreSQL would change, drop or choke on; the error names the place."""
    if fault := _walk(value, limits.max_depth, limits.key_chars, set()):
        raise fault.error(path)


def check_size(size: int, limit: int, what: str) -> None:
    """Refuse more than `limit` bytes; `what` is the thing in words, such as "the state"."""
    if size > limit:
        raise InvalidValue("$", f"{what} has {size:,} bytes, at most {limit:,} are taken")


def heaviest(value: Any, path: str = "$") -> str:
    """The path of the innermost member that holds at least half of a value's bytes."""
    size = len(canonical(value))
    while isinstance(value, dict | list) and value:
        members = value.items() if isinstance(value, dict) else enumerate(value)
        most, key = max(((len(canonical(inner)), key) for key, inner in members), key=_first)
        if 2 * most < size:
            break
        path, value, size = at(path, key), value[key], most
    return path


def _first(pair: tuple[int, str | int]) -> int:
    return pair[0]


# For values that `_walk` has seen.
_encode = json.JSONEncoder(
    sort_keys=True,
    ensure_ascii=False,
    check_circular=False,
    allow_nan=False,
    separators=(",", ":"),
).encode


def canonical(value: object) -> bytes:
    """The RFC 8785 bytes of a value, checked on the way.

    For nearly all values the stdlib writes the same bytes (tests prove it), three times faster than
    the reference package, which writes those with very large or small floats and astral keys.
    """
    odd: set[str] = set()
    if fault := _walk(value, _WRAPPED_DEPTH, sys.maxsize, odd):
        raise fault.error("$")
    if not odd:
        return _encode(value).encode()
    if odd == {"whole"}:
        return _encode(_whole_as_integers(value)).encode()
    return rfc8785.dumps(cast(Any, value))


def _whole_as_integers(value: Any) -> Any:
    kind = type(value)
    if kind is dict:
        return {key: _whole_as_integers(item) for key, item in value.items()}
    if kind is list:
        return [_whole_as_integers(item) for item in value]
    if kind is float and value.is_integer() and -MAX_INTEGER <= value <= MAX_INTEGER:
        return int(value)
    return value


def as_stored(value: Any) -> Any:
    """The value as the store gives it back: JSON has one zero, and 2.0 is written as 2.

    Who continues with a value and who loads it see the same. What cannot be stored is left alone.
    """
    odd: set[str] = set()
    _walk(value, _WRAPPED_DEPTH, sys.maxsize, odd)
    return _whole_as_integers(value) if "whole" in odd else value


def copied(value: Any) -> Any:
    """A copy that shares no list or dict with a checked value, for code that may be impure."""
    if isinstance(value, dict):
        return {key: copied(item) for key, item in value.items()}
    return [copied(item) for item in value] if isinstance(value, list) else value


# --- reading ----------------------------------------------------------------------------------


class _Stop(Exception):
    """A hook of the decoder refuses; hooks do not know where they are."""


def _stop(message: str) -> object:
    raise _Stop(message)


def is_exact(text: str, number: float) -> bool:
    """True where a decimal text is the double that it was read as, not one nearby.

    A double stands for its shortest text: 0.1 is exactly 0.1, and 0.10000000000000001 is not.
    """
    if len(text) <= 15 and abs(number) > 1e-290:  # digits that each double of this size keeps
        return True
    try:
        return number == 0 or Decimal(text) == Decimal(repr(number))
    except InvalidOperation:
        return False


def _decoder(
    refuse: Callable[[str], object], *, stored: bool, rounds: bool = False
) -> json.JSONDecoder:
    """A strict decoder whose hooks answer `refuse(message)` for what is not taken.

    Fractions with more digits than a double has are rounded if `stored` or `rounds`.
    """

    def members(pairs: list[tuple[str, object]]) -> dict[str, object]:
        result = dict(pairs)
        if len(result) != len(pairs):
            seen: set[str] = set()
            for key, _ in pairs:
                if key in seen:
                    result[key] = refuse("the key occurs twice")
                seen.add(key)
        return result

    def integer(text: str) -> object:
        if len(text) < 16:
            return int(text)
        if len(text) <= 17 and -MAX_INTEGER <= (number := int(text)) <= MAX_INTEGER:
            return number
        return fraction(text) if stored else refuse(_TOO_LARGE)

    def fraction(text: str) -> object:
        number = float(text)
        if math.isinf(number):
            return refuse("the number is beyond the range of a double")
        if number == 0 and not stored and text.lower().partition("e")[0].strip("-.0"):
            return refuse("the number is too small for a double")
        if not (stored or rounds or is_exact(text, number)):
            return refuse(_TOO_LONG)
        return number

    def constant(text: str) -> object:
        return refuse(f"{text} is not JSON")

    return json.JSONDecoder(
        object_pairs_hook=members,
        parse_int=integer,
        parse_float=fraction,
        parse_constant=constant,
    )


_FILE = _decoder(_stop, stored=True)
_FILE_MARKING = _decoder(Refused, stored=True)
_SENT_MARKING = _decoder(Refused, stored=False)
_SENT_ROUNDING = _decoder(Refused, stored=False, rounds=True)


def _parse(decoder: json.JSONDecoder, text: str) -> Any:
    try:
        return decoder.decode(text)
    except json.JSONDecodeError as error:
        path = f"line {error.lineno} column {error.colno}"
        raise InvalidValue("$", f"not JSON: {error.msg} at {path}") from None
    except RecursionError:
        raise InvalidValue("$", "nested too deeply") from None


def utf8(raw: bytes) -> str:
    """The text of these bytes; InvalidValue names the first that is none."""
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        raise InvalidValue("$", f"not UTF-8 at byte {error.start}") from None


def decode_file(raw: str | bytes) -> Any:
    """Read JSON of a file; an integer beyond 2^53 is the double that canonical text spells so.

    Duplicate keys, NaN and infinities are refused. Depth, NUL and surrogates are not looked for: a
    `check` has to follow.
    """
    text = raw if isinstance(raw, str) else utf8(raw)
    try:
        return _parse(_FILE, text)
    except _Stop as stop:
        fault = _walk(_parse(_FILE_MARKING, text), sys.maxsize, sys.maxsize, set())
        raise (fault or _Fault(str(stop))).error("$") from None


_TOKENS = re.compile(r'"(?:[^"\\]+|\\.)*+"?|[\[{]|[\]}]', re.DOTALL)


def _clipped(text: str, max_depth: int) -> str:
    """The text, cut and closed right after the first bracket that is too deep.

    The parser then never sees more depth than the check after it, which names the path.
    """
    if text.count("[") + text.count("{") <= max_depth:
        return text
    closers: list[str] = []
    for token in _TOKENS.finditer(text):
        mark = text[token.start()]
        if mark in "[{":
            closers.append("]" if mark == "[" else "}")
            if len(closers) > max_depth:
                return text[: token.end()] + "".join(reversed(closers))
        elif mark != '"' and closers:
            closers.pop()
    return text


def decode_request(raw: bytes, limits: Limits = LIMITS, *, rounds: bool = False) -> Any:
    """Read JSON that somebody sent; nothing in it is silently changed.

    Refused: other encodings than UTF-8, a byte order mark, duplicate keys, NaN, infinities, numbers
    a double cannot hold, integers beyond 2^53, NUL, lone surrogates, too much depth or size.
    `rounds` takes fractions with more digits than a double has, for texts of models and
    measurements.
    """
    check_size(len(raw), limits.request_bytes, "the request")
    text = utf8(raw)
    if text.startswith("\ufeff"):
        raise InvalidValue("$", "starts with a byte order mark; send plain UTF-8")
    value = _parse(_SENT_ROUNDING if rounds else _SENT_MARKING, _clipped(text, limits.max_depth))
    check(value, limits=limits)
    return value
