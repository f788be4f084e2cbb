"""The decoders of what is stored and of what somebody sends."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkpoints.errors import InvalidValue
from checkpoints.state.deltas import (
    MAX_INTEGER,
    Limits,
    canonical,
    decode,
    decode_file,
    decode_request,
)
from tests.unit.checkpoints.strategies import nested, short, values

# --- reading what is stored -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("10000000000000000", 1e16),
        ("10000000000000000000000", 1e22),
        ("15" + "0" * 299, 1.5e300),
        ("9007199254740992", 2.0**53),
        ("-9007199254740992", -(2.0**53)),
        ("0.0", 0.0),
    ],
)
def test_a_stored_integer_beyond_2_53_is_the_double_it_was(text: str, value: float) -> None:
    read = decode(text)
    assert type(read) is float
    assert read == value


def test_stored_integers_up_to_2_53_stay_integers() -> None:
    for number in (0, 7, MAX_INTEGER, -MAX_INTEGER, 999_999_999_999_999, 1_000_000_000_000_000):
        read = decode(str(number).encode())
        assert type(read) is int
        assert read == number


@pytest.mark.parametrize(
    ("text", "path", "words"),
    [
        ('{"a": {"b": [1, {"c": 1, "c": 2}]}}', "$.a.b[1].c", "twice"),
        ('{"a": [NaN]}', "$.a[0]", "NaN"),
        ('{"a": [0, -Infinity]}', "$.a[1]", "Infinity"),
        ('{"a": 1e999}', "$.a", "range"),
        ('{"a": 1' + "0" * 400 + "}", "$.a", "range"),
        ('{"a": ', "$", "line 1 column 7"),
        ("", "$", "not JSON"),
        ("[" * 100_000, "$", "deep|not JSON"),
    ],
    ids=short,
)
def test_a_file_that_is_not_honest_json_is_refused(text: str, path: str, words: str) -> None:
    with pytest.raises(InvalidValue, match=words) as caught:
        decode_file(text)
    assert caught.value.path == path


# --- reading what somebody sends --------------------------------------------------------------


@pytest.mark.parametrize(
    ("raw", "path", "words"),
    [
        (b'{"a": {"b": [1, 2, 3, 9007199254740992]}}', "$.a.b[3]", "as a string"),
        (b'{"a": {"b": [1, 2, 3, -9007199254740992]}}', "$.a.b[3]", "as a string"),
        (b'{"a": ' + b"9" * 100_000 + b"}", "$.a", "as a string"),
        (b'{"a": [1e999]}', "$.a[0]", "range"),
        (b'{"a": [-1E+999]}', "$.a[0]", "range"),
        (b'{"a": [1e-999]}', "$.a[0]", "too small"),
        (b'{"a": [1.2345678901234567890123]}', "$.a[0]", "more digits than a double"),
        (b'{"a": {"b": 0.10000000000000001}}', "$.a.b", "more digits than a double"),
        (b'{"a": 9007199254740993.5}', "$.a", "more digits than a double"),
        (b'{"a": -12345678901234567891e-16}', "$.a", "more digits than a double"),
        (b'{"a": 1.23456789e-320}', "$.a", "more digits than a double"),
        (b'{"a": 1' + b"0" * 5_000 + b".5e-5000}", "$.a", "range|more digits"),
        (b'{"a": [NaN]}', "$.a[0]", "NaN"),
        (b'{"a": [Infinity]}', "$.a[0]", "Infinity"),
        (b'{"a": {"b": 1, "b": 1}}', "$.a.b", "twice"),
        (b'{"a": {"b": 1, "\\u0062": 1}}', "$.a.b", "twice"),
        (b'{"a": ["\\u0000"]}', "$.a[0]", "NUL"),
        (b'{"a": ["\\ud800 "]}', "$.a[0]", "surrogate"),
        (b'{"a": {"\\udc00": 1}}', '$.a["\\udc00"]', "surrogate"),
        (b'\xef\xbb\xbf{"a": 1}', "$", "byte order mark"),
        (b'{"a": "\xff"}', "$", "UTF-8 at byte 7"),
        (b'{"a": "\xed\xa0\x80"}', "$", "UTF-8"),
        ('{"a": 1}'.encode("utf-16"), "$", "UTF-8"),
        (b'{"a": 1', "$", "not JSON"),
        (b"{'a': 1}", "$", "not JSON"),
        (b'{"a": 1}{', "$", "not JSON"),
        (b'["a\nb"]', "$", "not JSON"),
        (b"", "$", "not JSON"),
        (b"]" * 200, "$", "not JSON"),
        (b'"' + b'\\"[]' * 500_000, "$", "not JSON"),
        (b"[" * 101 + b'"', "$" + "[0]" * 100, "deep"),
    ],
    ids=short,
)
def test_what_is_sent_and_not_taken_is_refused_with_its_path(
    raw: bytes, path: str, words: str
) -> None:
    with pytest.raises(InvalidValue, match=words) as caught:
        decode_request(raw)
    assert caught.value.path == path


@pytest.mark.parametrize("depth", [101, 5_000, 100_000])
def test_a_deep_request_is_refused_with_the_path_of_the_first_level_too_deep(depth: int) -> None:
    for raw in (b"[" * depth + b"]" * depth, b"[" * depth):
        with pytest.raises(InvalidValue, match="deep") as caught:
            decode_request(raw)
        assert caught.value.path == "$" + "[0]" * 100
    raw = b'{"x":[1,' * depth + b"0" + b"]}" * depth
    with pytest.raises(InvalidValue, match="deep") as caught:
        decode_request(raw)
    assert caught.value.path == "$" + ".x[1]" * 50


def test_a_request_of_the_full_depth_and_brackets_in_texts_are_taken() -> None:
    assert decode_request(canonical(nested(100))) == nested(100)
    many = [{"open": "[{" * 200 + '"\\'} for _ in range(200)]
    assert decode_request(canonical(many)) == many


def test_a_request_over_the_limit_is_refused() -> None:
    with pytest.raises(InvalidValue, match="the request has 11 bytes, at most 10"):
        decode_request(b'"123456789"', Limits(request_bytes=10))


@given(values)
def test_what_json_dumps_sends_is_read_as_it_was(value: Any) -> None:
    def same(a: Any, b: Any) -> bool:
        return type(a) is type(b) and repr(a) == repr(b)

    assert same(decode_request(json.dumps(value).encode()), value)


DIGITS = st.builds(
    "{}{}.{}{}".format,
    st.sampled_from(["", "-"]),
    st.integers(0, 10**20),
    st.text("0123456789", min_size=1, max_size=25),
    st.one_of(st.just(""), st.integers(-330, 300).map("e{}".format)),
)


@pytest.mark.requirement("F03")
@given(DIGITS)
def test_a_fraction_is_read_exactly_or_refused(text: str) -> None:
    try:
        value = decode_request(text.encode())
    except InvalidValue:
        assert Decimal(text) != Decimal(repr(float(text)))
        return
    assert Decimal(text) == Decimal(repr(value))


def test_texts_of_models_are_rounded() -> None:
    assert decode_request(b"0.33333333333333333333", rounds=True) == 1 / 3


@given(st.one_of(st.binary(), st.text('{}[]":,\\u0d8aeE+-.1nulNfIty \ufeff').map(str.encode)))
def test_whatever_is_sent_is_a_storable_value_or_refused(raw: bytes) -> None:
    try:
        value = decode_request(raw)
    except InvalidValue:
        return
    assert decode(canonical(value)) == value
