"""What a value may be, its path, its canonical bytes, and its copies."""

from __future__ import annotations

import json
from decimal import Decimal
from enum import StrEnum
from typing import Any

import pytest
import rfc8785
from django.db import connection
from hypothesis import HealthCheck, example, given, settings

from checkpoints.errors import InvalidValue
from checkpoints.state.deltas import (
    LIMITS,
    MAX_INTEGER,
    Limits,
    at,
    canonical,
    check,
    check_size,
    copied,
    decode,
    heaviest,
)
from tests.unit.checkpoints.strategies import CORNERS, nested, short, through_jsonb, values


class Colour(StrEnum):
    RED = "red"


# --- paths ------------------------------------------------------------------------------------


def test_a_path_is_plain_for_names_and_quoted_for_other_keys() -> None:
    assert at(at(at("$", "a"), "b"), 3) == "$.a.b[3]"
    assert at("$", 'a "b"') == '$["a \\"b\\""]'
    assert at("$", "") == '$[""]'
    assert at("$", "\ud800\n") == '$["\\ud800\\n"]'
    assert len(at("$", "k" * 10_000)) < 100


# --- canonical bytes --------------------------------------------------------------------------


@given(values)
@example(CORNERS)
@example([{"x": corner} for corner in CORNERS])
@example({"\ue000": 1, "\U0001f600": 2})
def test_canonical_is_rfc_8785_on_every_path_it_takes(value: Any) -> None:
    assert canonical(value) == rfc8785.dumps(value)


@pytest.mark.parametrize("number", CORNERS)
def test_each_corner_alone_is_rfc_8785(number: float) -> None:
    """Alone, since one odd number in a document moves all of it to the reference package."""
    assert canonical(number) == rfc8785.dumps(number)
    assert canonical(-number) == rfc8785.dumps(-number)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (4.50, "4.5"), (2e-3, "0.002"), (1e-27, "1e-27"), (333333333.33333329, "333333333.3333333"),
        (1e30, "1e+30"), (1e21, "1e+21"), (1e20, "100000000000000000000"), (1e-6, "0.000001"),
        (1e-7, "1e-7"), (-0.0, "0"), (1.0, "1"), (5e-324, "5e-324"),
        (2.0**53, "9007199254740992"), (2951479051793528.3e5, "295147905179352830000"),
    ],
)  # fmt: skip
def test_numbers_are_written_as_the_rfc_says(number: float, text: str) -> None:
    assert canonical(number) == text.encode()


def test_keys_are_sorted_by_utf_16_units_as_in_the_example_of_the_rfc() -> None:
    keys = ["\u20ac", "\r", "\ufb33", "1", "\U0001f600", "\u0080", "\u00f6"]
    assert list(json.loads(canonical(dict.fromkeys(keys)))) == [
        "\r", "1", "\u0080", "\u00f6", "\u20ac", "\U0001f600", "\ufb33",
    ]  # fmt: skip


def test_the_order_of_keys_makes_no_difference() -> None:
    assert canonical({"b": 1, "a": {"d": 1, "c": 2}}) == b'{"a":{"c":2,"d":1},"b":1}'


@given(values)
@example(CORNERS)
def test_canonical_bytes_survive_the_numbers_of_jsonb(value: Any) -> None:
    """Hashes stay right for honest data: jsonb spells out 1e22 and forgets the sign of -0.0."""
    raw = canonical(value)
    for sent in (raw.decode(), json.dumps(value)):
        stored = through_jsonb(json.loads(sent, parse_float=Decimal))
        assert canonical(decode(stored)) == raw


@pytest.mark.slow
@pytest.mark.django_db
@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(value=values)
@example(value=CORNERS)
def test_canonical_bytes_survive_the_real_jsonb(value: Any, db: None) -> None:
    raw = canonical(value)
    with connection.cursor() as cursor:
        for sent in (raw.decode(), json.dumps(value)):
            cursor.execute("SELECT %s::jsonb::text", [sent])
            stored = cursor.fetchone()[0]
            assert canonical(decode(stored)) == raw
            assert through_jsonb(json.loads(sent, parse_float=Decimal)) == stored


@given(values)
def test_decoding_canonical_bytes_gives_the_same_value(value: Any) -> None:
    back = decode(canonical(value))
    assert back == value
    assert canonical(back) == canonical(value)


# --- what a value may be ----------------------------------------------------------------------

REFUSED = [
    (float("nan"), "$.a.b[3]", "NaN"),
    (float("inf"), "$.a.b[3]", "infinit"),
    (float("-inf"), "$.a.b[3]", "infinit"),
    ("a\0b", "$.a.b[3]", "NUL"),
    ("\ud800", "$.a.b[3]", "surrogate"),
    ("ok \udfff", "$.a.b[3]", "surrogate"),
    (MAX_INTEGER + 1, "$.a.b[3]", "beyond 2\\^53"),
    (-MAX_INTEGER - 1, "$.a.b[3]", "beyond 2\\^53"),
    (10**400, "$.a.b[3]", "beyond 2\\^53"),
    ((1, 2), "$.a.b[3]", "tuple"),
    ({1}, "$.a.b[3]", "set"),
    (b"raw", "$.a.b[3]", "bytes"),
    (Decimal("1.5"), "$.a.b[3]", "Decimal"),
    (Colour.RED, "$.a.b[3]", "Colour"),
    (object(), "$.a.b[3]", "object"),
    ({1: "x"}, "$.a.b[3]", "keys are strings"),
    ({"x\0": 1}, '$.a.b[3]["x\\u0000"]', "NUL"),
    ({"\ud800": 1}, '$.a.b[3]["\\ud800"]', "surrogate"),
]


@pytest.mark.parametrize(("value", "path", "words"), REFUSED, ids=short)
def test_what_is_not_storable_json_is_refused_with_its_path(
    value: Any, path: str, words: str
) -> None:
    document = {"ok": 1, "a": {"b": [0, "1", None, value]}}
    for refuse in (check, canonical):
        with pytest.raises(InvalidValue, match=words) as caught:
            refuse(document)
        assert caught.value.path == path


@given(values)
def test_every_json_value_passes(value: Any) -> None:
    check(value)


def test_the_path_starts_where_the_caller_says() -> None:
    with pytest.raises(InvalidValue) as caught:
        check([0, {"x": float("nan")}], "$.channel")
    assert caught.value.path == "$.channel[1].x"


def test_depth_is_taken_up_to_the_limit_and_refused_beyond_without_recursion_errors() -> None:
    check(nested(100))
    check(nested(3), limits=Limits(max_depth=3))
    for depth in (101, 500):
        with pytest.raises(InvalidValue, match="deep"):
            check(nested(depth))
    with pytest.raises(InvalidValue, match="deep") as caught:
        check({"a": [[0]]}, limits=Limits(max_depth=2))
    assert caught.value.path == "$.a[0]"
    loop: list[Any] = []
    loop.append(loop)
    for refuse in (check, canonical):
        with pytest.raises(InvalidValue, match="deep"):
            refuse(loop)
        with pytest.raises(InvalidValue, match="deep"):
            refuse(nested(100_000))


def test_a_value_of_the_full_depth_still_fits_into_a_delta() -> None:
    state = nested(100)
    canonical({"set": state})
    canonical({"data": {"delta": {"append": state}}})


def test_long_keys_are_refused() -> None:
    check({"k" * LIMITS.key_chars: 1})
    with pytest.raises(InvalidValue, match="longer than 1000"):
        check({"k" * (LIMITS.key_chars + 1): 1})


def test_sizes_are_refused_in_words() -> None:
    check_size(10, 10, "the state")
    with pytest.raises(InvalidValue, match="the state has 9,000,000 bytes, at most 8,388,608"):
        check_size(9_000_000, LIMITS.state_bytes, "the state")


@given(values)
def test_a_copy_is_equal_and_shares_no_container(value: Any) -> None:
    def containers(part: Any) -> set[int]:
        if not isinstance(part, list | dict):
            return set()
        inner = part.values() if isinstance(part, dict) else part
        return {id(part)}.union(*(containers(item) for item in inner))

    twin = copied(value)
    assert canonical(twin) == canonical(value)
    assert not containers(twin) & containers(value)


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ({"a": 1, "rows": [{"n": 1}, {"text": "x" * 100, "n": 2}]}, "$.rows[1].text"),
        (["x"] * 100, "$"),
        ({"rows": ["x"] * 100, "a b": 1}, "$.rows"),
        ({"a b": "x" * 9}, '$["a b"]'),
        ({}, "$"),
        ("x" * 100, "$"),
        ([[[]]], "$[0][0]"),
    ],
)
def test_the_heaviest_member_is_named(value: Any, path: str) -> None:
    assert heaviest(value) == path
