"""Every value comes back from its marked form as it was, and the form is what the store takes."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkpoints.errors import InvalidValue
from checkpoints.state import deltas, marked
from checkpoints.state.deltas import canonical
from checkpoints.state.marked import MARK, Raw, mark, unmark

pytestmark = pytest.mark.requirement("F03")
TEXTS = st.text(st.characters(), max_size=6) | st.text("\0\\u0041\ud83d\ude00", max_size=6)
HASHABLE = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-(2**80), 2**80)
    | st.floats(allow_nan=False)
    | TEXTS
    | st.binary(max_size=6)
    | st.decimals(allow_nan=False)
    | st.dates()
    | st.datetimes()
    | st.times()
    | st.uuids()
)
KEYS = TEXTS | st.just(MARK) | st.integers() | st.none() | st.just("k" * 2_000)
VALUES = st.recursive(
    HASHABLE,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(KEYS, inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.sets(HASHABLE, max_size=3)
        | st.frozensets(HASHABLE, max_size=3)
        | inner.map(lambda value: {MARK: value})
        | inner.map(lambda value: {MARK: {"int": value}})
    ),
    max_leaves=12,
)


def stored(value: Any) -> Any:
    """The marked form after PostgreSQL had it."""
    form = mark(value)
    deltas.check(form)
    raw = deltas.canonical(form)
    assert deltas.canonical(deltas.decode(raw.decode())) == raw
    return deltas.decode(raw.decode())


def same(one: Any, other: Any) -> bool:
    """Equal, and of the same types all the way down; JSON's one zero and 2.0 as 2 are equal."""
    number = {int, float}
    if type(one) is not type(other) and {type(one), type(other)} != number:
        return False
    if isinstance(one, dict):
        pairs = zip(one.items(), other.items(), strict=True)
        if all(type(key) is str for key in one):  # the store orders them
            pairs = zip(sorted(one.items()), sorted(other.items()), strict=True)
        return all(same(a, b) and same(x, y) for (a, x), (b, y) in pairs)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


@given(VALUES)
def test_each_value_comes_back_as_it_was(value: Any) -> None:
    form = stored(value)
    assert same(unmark(form), value)
    assert deltas.canonical(mark(unmark(form))) == deltas.canonical(form)


@given(st.recursive(st.none() | st.integers(-9, 9) | st.text("ab"), st.lists, max_leaves=9))
def test_what_the_store_takes_is_its_own_form(value: Any) -> None:
    assert mark(value) == value
    assert marked.marks(value) == []


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("a\0b", "text"),
        ("half \ud83d", "text"),
        (2**60, "int"),
        (-(10**5_000), "int"),
        (math.inf, "float"),
        (-math.inf, "float"),
        (b"\0\xff", "bytes"),
        ((1, (2,)), "tuple"),
        ({1, "a"}, "set"),
        (Decimal("1.20"), "decimal"),
        (datetime(2026, 1, 1, tzinfo=UTC), "datetime"),
        (date(2026, 1, 1), "date"),
        (time(1, 2), "time"),
        (UUID(int=1), "uuid"),
        (Raw('{"a":1,"a":1.10}'), "raw"),
        ({1: "a", None: "b"}, "object"),
        ({MARK: 1}, "object"),
    ],
    ids=[*map(str, range(17))],
)
def test_a_page_can_say_what_is_marked(value: Any, kind: str) -> None:
    form = stored({"x": [value]})
    assert marked.marks(form)[0] == ("$.x[0]", kind)
    assert same(unmark(form), {"x": [value]})


def test_not_a_number_comes_back_as_one() -> None:
    assert math.isnan(unmark(stored({"x": math.nan}))["x"])


@pytest.mark.parametrize("depth", [79, 80, 81, 99, 100, 101, 500, 20_000])
def test_any_depth_comes_back(depth: int) -> None:
    value: Any = {"end": b"x"}
    for number in range(depth):
        value = [value] if number % 2 else {"a": value, "n\0": number}
    back = unmark(stored(value))
    for number in reversed(range(depth)):
        if number % 2:
            (back,) = back
        else:
            assert back["n\0"] == number
            back = back["a"]
    assert back == {"end": b"x"}


def test_a_value_that_contains_itself_and_any_other_object_are_described() -> None:
    value: list[Any] = [1]
    value.append(value)
    assert stored(value)[1][MARK]["other"]["text"] == "it contains itself"

    class Odd:
        def __repr__(self) -> str:
            raise RuntimeError("\0")

    for one in (object(), Odd(), len, type("Half", (), {"__repr__": lambda s: "\ud83d"})()):
        form = stored({"x": one})
        assert marked.marks(form) == [("$.x", "other")]
        assert unmark(form) == form


async def _awaited() -> None: ...


async def _streamed() -> Any:
    yield 1


READ_ONCE: dict[str, Callable[[], Any]] = {
    "generator": lambda: (n for n in range(3)),
    "map": lambda: map(str, [1]),
    "zip": lambda: zip([1], [2], strict=True),
    "iterator": lambda: iter([1]),
    "keys": lambda: iter({"a": 1}),
    "rows": lambda: csv.reader(io.StringIO("a,b")),
    "open file": lambda: io.BytesIO(b"abc"),
    "text file": lambda: io.StringIO("abc"),
    "asynchronous generator": _streamed,
}


@pytest.mark.parametrize("kind", READ_ONCE)
def test_what_can_be_read_only_once_is_refused(kind: str) -> None:
    for value, path in (
        (READ_ONCE[kind](), r"\$"),
        ({"a": [READ_ONCE[kind]()]}, r"\$\.a\[0\]"),
        ((READ_ONCE[kind](),), r"\$\[0\]"),
    ):
        with pytest.raises(InvalidValue, match=rf"^{path}: \w+ has no JSON: it can be read once"):
            mark(value)


def test_a_coroutine_is_refused() -> None:
    value = _awaited()
    with pytest.raises(InvalidValue, match="coroutine has no JSON"):
        mark(value)
    value.close()


def test_a_description_holds_no_memory_address() -> None:
    class Shop:
        def buy(self) -> None: ...

    one = Shop()
    values: tuple[Any, ...] = (one, object(), lambda: 1, one.buy, Shop, {1: one}, {one}, [[one]])
    for value in values:
        text = canonical(mark(value)).decode()
        assert "0x" not in text, text
        assert '"other"' in text, text


def test_a_path_is_refused() -> None:
    for value in (Path("/etc/hostname"), {"a": [Path("x")]}):
        with pytest.raises(InvalidValue, match="not a JSON type"):
            mark(value)


def test_a_mark_that_nobody_wrote_so_stays_as_it_is() -> None:
    for value in ({MARK: {"nothing": 1}}, {MARK: {}}, {MARK: 1, "b": 2}, {MARK: [1]}):
        assert unmark(json.loads(json.dumps(value))) == value
        assert unmark(stored(value)) == value


@given(VALUES)
def test_people_read_a_value_without_its_marks(value: Any) -> None:
    form = mark(value)
    text = json.dumps(marked.shown(form), ensure_ascii=False, allow_nan=False)
    text.encode()  # a page can hold it
    deltas.canonical(json.loads(text))
    assert MARK in repr(value) or MARK not in text
    if marked.is_plain(value):
        assert marked.shown(form) == deltas.as_stored(value)


def test_what_people_read() -> None:
    cases: list[tuple[Any, Any]] = [
        ("a\0\\u0041", "a\u2400\\u0041"),
        ("half \ud83d", "half \ufffd"),
        (2**80, "1208925819614629174706176"),
        (float("-inf"), "-Infinity"),
        (b"\0\xff", "2 bytes: 00 ff"),
        ((1, [b""]), [1, ["0 bytes: "]]),
        (Decimal("1.10"), "1.10"),
        (date(2026, 1, 2), "2026-01-02"),
        ({1: "a", "b\0": 2**60}, {"1": "a", "b\u2400": "1152921504606846976"}),
        (Raw('{"a":1,"a":2}'), '{"a":1,"a":2}'),
        ({MARK: {"int": "7"}}, {MARK: {"int": "7"}}),
        ([object], ["<class 'object'>"]),
    ]
    for value, shown in cases:
        assert marked.shown(mark(value)) == shown
    raw = b'"' + b"x" * 9_000 + b'"'
    form = marked.large(raw, {"$artifact": "0" * 64})
    assert marked.shown(form)["size"] == "9,002 bytes, kept as a file"
    for odd in ("int", "text", "bytes", "object", "deep", "large", "other", "float"):
        for part in (7, None, {"a": 1}, ["x"]):
            json.dumps(marked.shown({MARK: {odd: part}}), ensure_ascii=False)
