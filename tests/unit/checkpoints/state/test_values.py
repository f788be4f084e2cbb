"""The decoders of stored JSON and of files against the standard library's."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from checkpoints.errors import InvalidValue
from checkpoints.state.deltas import LIMITS, MAX_INTEGER, canonical, decode, decode_file
from tests.unit.checkpoints.strategies import CORNERS, through_jsonb, values

HALFWAY = ["9007199254740993", "9007199254740993.0", "1.00000000000000011102230246251565404"]
NUMBERS = [
    "0", "-0", "-0.0", "1e16", "1e22", "-1.5e300", "1e-320", "5e-324", "4.9e-324", "2.5e-324",
    "1e-400", "1E5", "0.1e1", "123456789012345678901234567890", "1" * 308, "9" * 17, "-" + "9" * 16,
    "2.2250738585072011e-308", "1.7976931348623157e308", str(MAX_INTEGER), str(-MAX_INTEGER - 1),
    "0." + "3" * 400, "1" * 5_000 + "e-4990", *HALFWAY,
]  # fmt: skip


def same(one: Any, other: Any) -> bool:
    """Equal with types, signs of zero and the order of keys."""
    if type(one) is not type(other):
        return False
    if type(one) is float:
        return math.copysign(1, one) == math.copysign(1, other) and one == other
    if type(one) is list:
        return len(one) == len(other) and all(map(same, one, other))
    if type(one) is dict:
        return list(one) == list(other) and all(map(same, one.values(), other.values()))
    return bool(one == other)


def expected(text: str) -> Any:
    """What the standard library reads; an integer beyond 2^53 is a double."""

    def whole(digits: str) -> float:
        return int(digits) if abs(float(digits)) <= MAX_INTEGER else float(digits)

    return json.loads(text, parse_int=whole)


@given(values)
@example([[[CORNERS]], {"a": {"b": CORNERS}}])
@example({"deep": json.loads("[" * LIMITS.max_depth + "1e16" + "]" * LIMITS.max_depth)})
def test_every_value_that_is_taken_is_read_the_same(value: Any) -> None:
    text = canonical(value).decode()
    spelt = through_jsonb(json.loads(text, parse_float=Decimal))
    for written in (text, spelt, json.dumps(value)):
        assert same(decode(written), expected(written))
        assert same(decode(written.encode()), expected(written))
        assert same(decode_file(written), expected(written))


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_floats_are_the_same_to_the_last_bit(number: float) -> None:
    for written in (repr(number), f"{number:.17e}", f"{number:.25g}"):
        assert same(decode(f"[{written}]"), expected(f"[{written}]"))


@pytest.mark.parametrize("number", NUMBERS, ids=lambda text: text[:24])
def test_numbers_of_all_lengths_are_read_alike(number: str) -> None:
    for text in (number, f"[{number}]", f'{{"a": [{{"b": {number}}}, "c"]}}'):
        assert same(decode(text), expected(text))
        assert same(decode(text.encode()), expected(text))


@pytest.mark.parametrize(
    "text",
    ["", "nothing", "[1,]", "[1", "01", "NaN", "[-Infinity]", '{"a":1e999}', "[1] 2", '["a\tb"]',
     "1" * 400, '"\\ud8"', "[" * 100_000],
    ids=lambda text: text[:24],
)  # fmt: skip
def test_text_that_is_no_json_is_refused(text: str) -> None:
    for raw in (text, text.encode()):
        for decoder in (decode, decode_file):
            with pytest.raises(InvalidValue):
                decoder(raw)


def test_a_file_that_names_a_key_twice_is_refused() -> None:
    with pytest.raises(InvalidValue, match="twice"):
        decode_file('{"a": 1, "a": 2}')


def test_bytes_that_are_no_text_are_refused() -> None:
    with pytest.raises(InvalidValue):
        decode(b'["\xff"]')
