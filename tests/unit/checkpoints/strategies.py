"""JSON values for property tests, with the corners that encoders disagree about."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

from checkpoints.state.deltas import MAX_INTEGER

CORNERS = [
    0.0, -0.0, 1.0, -1.0, 0.5, 1e-4, 9.999e-5, 1e-5, 1e-6, 1e-7, 5e-324, 1e15, 1e16, 1e20, 1e21,
    1e22, 1.5e300, 1.7976931348623157e308, 1.2345678901234567e20, 2.0**53, 2.0**53 - 1,
    2.0**53 + 2, -(2.0**53), 9999999999999998.0, 123456789012345.6, 333333333.33333329,
]  # fmt: skip
# Astral characters and those from U+E000 on: UTF-16 units and code points sort them differently.
texts = st.text(
    st.one_of(
        st.sampled_from('"\\/\b\t\n\r\f\x01\x1f\x7f\u2028\ud7ff\ue000\uffff\U0001f600\U0010ffff'),
        st.characters(codec="utf-8", exclude_characters="\0"),
    ),
    max_size=12,
)
floats = st.one_of(
    st.sampled_from(CORNERS),
    st.floats(allow_nan=False, allow_infinity=False),
    st.integers(-(2**60), 2**60).map(float),
)
scalars = st.one_of(st.none(), st.booleans(), st.integers(-MAX_INTEGER, MAX_INTEGER), floats, texts)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=20,
)


def through_jsonb(parsed: Any) -> str:
    """The text that jsonb answers for a document (read with `parse_float=Decimal`).

    As numeric does it: no exponents, no negative zero, trailing zeros of fractions kept.
    """
    if isinstance(parsed, dict):
        members = sorted(parsed.items(), key=lambda item: (len(item[0].encode()), item[0].encode()))
        return (
            "{"
            + ", ".join(
                f"{json.dumps(k, ensure_ascii=False)}: {through_jsonb(v)}" for k, v in members
            )
            + "}"
        )
    if isinstance(parsed, list):
        return "[" + ", ".join(map(through_jsonb, parsed)) + "]"
    if isinstance(parsed, Decimal):
        return f"{abs(parsed) if parsed == 0 else parsed:f}"
    return json.dumps(parsed, ensure_ascii=False)


def nested(depth: int, leaf: Any = None) -> Any:
    """`leaf` inside `depth` containers, lists and dicts in turn."""
    for level in range(depth):
        leaf = [leaf] if level % 2 else {"a": leaf}
    return leaf


def short(value: Any) -> str:
    """A test id that stays readable and printable whatever the value is."""
    return ascii(value).split(" at 0x")[0][:24]
