"""What can be recorded: a call answers the same whether it was just made or is on record."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkpoints.state import deltas
from gatepost_client.record.values import digest, recordable
from gatepost_client.wire.errors import InvalidValue

SCALARS = (
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.text("aé\n", max_size=5)
)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False).filter(
    lambda number: not number.is_integer() or abs(number) < 2**53
)
VALUES = st.recursive(
    SCALARS | NUMBERS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text("abc", max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(VALUES)
def test_a_recorded_value_comes_back_as_it_was_answered(value: Any) -> None:
    answered = recordable(value, "it")
    sent = json.dumps(answered, allow_nan=False).encode()
    stored = deltas.as_stored(deltas.decode_request(sent))
    assert stored == answered
    assert json.dumps(stored, sort_keys=True) == json.dumps(
        recordable(stored, "it"), sort_keys=True
    )
    assert digest(stored) == digest(answered)


@pytest.mark.parametrize(
    ("value", "path"),
    [
        (math.nan, "$ is nan"),
        ({"a": [1, math.inf]}, "$.a[1] is inf"),
        ({"a": 2**53}, "$.a is beyond 2^53"),
        ({"a": {1: 2}}, "$.a has a key of type int"),
        ([{"b": b"x"}], "$[0].b is a bytes"),
        ({"when": object()}, "$.when is a object"),
    ],
    ids=["nan", "infinity", "integer", "key", "bytes", "object"],
)
def test_what_json_cannot_hold_is_refused_with_its_path(value: Any, path: str) -> None:
    with pytest.raises(InvalidValue) as refused:
        recordable(value, "What 'load' returned")
    assert f"What 'load' returned: {path}" in str(refused.value)


def test_a_value_that_contains_itself_is_refused() -> None:
    value: list[Any] = []
    value.append(value)
    with pytest.raises(InvalidValue, match="nested too deeply"):
        recordable(value, "it")
