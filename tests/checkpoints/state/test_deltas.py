"""Values, canonical bytes, the decoders, and deltas."""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal
from enum import StrEnum
from typing import Any

import pytest
import rfc8785
from django.db import connection
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from checkpoints.errors import InvalidValue
from checkpoints.state.deltas import (
    LIMITS,
    MAX_INTEGER,
    Folder,
    Limits,
    apply,
    at,
    canonical,
    check,
    check_size,
    copied,
    decode,
    decode_request,
    delta_of_changes,
    fold,
    heaviest,
    is_empty,
    validate_delta,
)
from tests.checkpoints.strategies import CORNERS, texts, through_jsonb, values


def nested(depth: int, leaf: Any = None) -> Any:
    """`leaf` inside `depth` containers, lists and dicts in turn."""
    for level in range(depth):
        leaf = [leaf] if level % 2 else {"a": leaf}
    return leaf


def short(value: Any) -> str:
    """A test id that stays readable and printable whatever the value is."""
    return ascii(value)[:24]


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
def test_stored_text_that_is_not_honest_json_is_refused(text: str, path: str, words: str) -> None:
    with pytest.raises(InvalidValue, match=words) as caught:
        decode(text)
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


@given(st.one_of(st.binary(), st.text('{}[]":,\\u0d8aeE+-.1nulNfIty \ufeff').map(str.encode)))
def test_whatever_is_sent_is_a_storable_value_or_refused(raw: bytes) -> None:
    try:
        value = decode_request(raw)
    except InvalidValue:
        return
    assert decode(canonical(value)) == value


# --- deltas -----------------------------------------------------------------------------------

CHANNELS = st.sampled_from(["a", "b", "c", "d"])
lists = st.lists(values, max_size=3)
dicts = st.dictionaries(texts, values, max_size=3)
states = st.dictionaries(CHANNELS, st.one_of(lists, dicts, values), max_size=4)


@st.composite
def deltas(draw: st.DrawFn) -> Any:
    """Well-formed deltas; whether they fit a state is another matter."""
    bodies = {"set": values, "append": lists, "merge": dicts}
    delta: dict[str, Any] = {}
    for channel in draw(st.sets(CHANNELS, max_size=3)):
        op = draw(st.sampled_from([*bodies, "append", "merge", "unset"]))
        if op == "unset":
            delta.setdefault(op, []).append(channel)
        else:
            delta.setdefault(op, {})[channel] = draw(bodies[op])
    return delta


def slowly(state: Mapping[str, Any], delta: Mapping[str, Any]) -> dict[str, Any] | None:
    """What a delta means, in the plainest words; None where it does not fit."""
    result = dict(state)
    result |= delta.get("set", {})
    for channel, items in delta.get("append", {}).items():
        if not isinstance(result.get(channel, []), list):
            return None
        result[channel] = result.get(channel, []) + items
    for channel, members in delta.get("merge", {}).items():
        if not isinstance(result.get(channel, {}), dict):
            return None
        result[channel] = result.get(channel, {}) | members
    return {name: value for name, value in result.items() if name not in delta.get("unset", [])}


@given(states, st.lists(deltas(), max_size=6))
def test_apply_and_fold_mean_the_same_and_mutate_nothing(state: Any, several: list[Any]) -> None:
    before = canonical([state, several])
    expected, fitting = state, []
    for delta in several:
        after = slowly(expected, delta)
        if after is None:
            with pytest.raises(InvalidValue, match="does not hold"):
                apply(expected, delta)
            continue
        fitting.append(delta)
        applied = apply(expected, delta)
        assert canonical(applied) == canonical(after)
        touched = {channel for body in delta.values() for channel in body}
        assert all(applied[name] is expected[name] for name in expected.keys() - touched)
        expected = after
    assert canonical(fold(state, iter(fitting))) == canonical(expected)
    assert canonical([state, several]) == before


@given(states, st.lists(deltas(), max_size=6))
def test_a_refused_delta_leaves_the_folder_as_it_was(state: Any, several: list[Any]) -> None:
    folder = Folder(state)
    for delta in several:
        before = canonical(folder.state)
        try:
            folder.add(delta)
        except InvalidValue:
            assert canonical(folder.state) == before


def test_appending_and_merging_grow_in_place_after_the_first_copy() -> None:
    """What makes 1,000 appends linear: from the second on no list is copied."""
    base: Any = {"log": list(range(10)), "facts": {"x": 1}}
    folder = Folder(base)
    folder.add({"append": {"log": [10]}, "merge": {"facts": {"y": 2}}})
    log, facts = folder.state["log"], folder.state["facts"]
    assert log is not base["log"]
    for number in range(1_000):
        folder.add({"append": {"log": [number]}, "merge": {"facts": {str(number): number}}})
    assert folder.state["log"] is log
    assert folder.state["facts"] is facts
    assert isinstance(log, list)
    assert len(log) == 1_011
    assert base == {"log": list(range(10)), "facts": {"x": 1}}


def test_a_list_that_a_delta_sets_is_not_grown_in_place() -> None:
    first: Any = {"set": {"log": [1]}}
    state = fold({"log": [0]}, [{"append": {"log": [0]}}, first, {"append": {"log": [2]}}])
    assert state == {"log": [1, 2]}
    assert first == {"set": {"log": [1]}}


def test_missing_channels_start_empty_and_unsetting_them_is_nothing() -> None:
    delta: Any = {"append": {"a": [1]}, "merge": {"b": {"x": 1}}, "unset": ["c"]}
    assert apply({}, delta) == {"a": [1], "b": {"x": 1}}


@pytest.mark.parametrize(
    ("delta", "path", "words"),
    [
        ({"sett": {"a": 1}}, "$.sett", "unknown operation"),
        ({"set": [1]}, "$.set", "must be an object"),
        ({"unset": {"a": 1}}, "$.unset", "must be a list"),
        ({"unset": [1]}, "$.unset", "named by strings"),
        ({"append": {"a": "text"}}, "$.append.a", "must be a list"),
        ({"merge": {"a": [1]}}, "$.merge.a", "must be an object"),
        ({"set": {"a": 1}, "append": {"a": [1]}}, "$.append.a", "twice"),
        ({"set": {"a": 1}, "unset": ["a"]}, "$.unset.a", "twice"),
        ({"unset": ["a", "a"]}, "$.unset.a", "twice"),
    ],
)
def test_a_malformed_delta_is_refused(delta: Any, path: str, words: str) -> None:
    for refuse in (validate_delta, lambda obj: apply({}, obj)):
        with pytest.raises(InvalidValue, match=words) as caught:
            refuse(delta)
        assert caught.value.path == path


def test_a_delta_is_validated_down_to_its_values() -> None:
    assert validate_delta({"set": {"a": 1}}) == {"set": {"a": 1}}
    for delta, path in [
        ({"set": {"a": [float("nan")]}}, "$.set.a[0]"),
        ({"append": {"a": ["\0"]}}, "$.append.a[0]"),
        ({5: {}}, '$["5"]'),
        ([], "$"),
    ]:
        with pytest.raises(InvalidValue) as caught:
            validate_delta(delta)
        assert caught.value.path == path


def test_a_delta_that_does_not_fit_names_the_channel() -> None:
    with pytest.raises(InvalidValue, match="does not hold a list") as caught:
        apply({"a": "text"}, {"append": {"a": [1]}})
    assert caught.value.path == "$.a"
    with pytest.raises(InvalidValue, match="does not hold an object"):
        apply({"a": [1]}, {"merge": {"a": {"x": 1}}})


def test_changes_of_a_person_become_a_delta() -> None:
    assert delta_of_changes({"report": "new", "tags": ["x"]}) == {
        "set": {"report": "new", "tags": ["x"]}
    }
    assert is_empty(delta_of_changes({}))
    with pytest.raises(InvalidValue) as caught:
        delta_of_changes({"report": ["\ud800"]})
    assert caught.value.path == "$.report[0]"


def test_a_delta_without_channels_is_empty() -> None:
    assert is_empty({})
    assert is_empty({"set": {}, "unset": []})
    assert not is_empty({"unset": ["a"]})
    assert not is_empty({"append": {"a": []}})


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
