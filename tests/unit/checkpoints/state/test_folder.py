"""Stored deltas fold to the same state as checked ones, without the checks."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkpoints.errors import InvalidValue
from checkpoints.state.deltas import canonical, decode, fold

names = st.text('ab[]{"\\\n½', max_size=3)
items = st.recursive(
    names | st.integers(-3, 3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=2),
    max_leaves=6,
)
deltas = st.one_of(
    st.builds(lambda new: {"append": {"log": new}}, st.lists(items, max_size=2)),
    st.builds(lambda new: {"set": {"log": new}}, st.lists(items, max_size=2)),
    st.builds(lambda value: {"set": {"goal": value}}, items),
    st.builds(lambda value: {"merge": {"facts": {"a": value}}}, items),
    st.builds(lambda one, two: {"append": {"log": [one], "notes": [two]}}, items, items),
    st.builds(lambda one, two: {"append": {"log": [one]}, "set": {"goal": two}}, items, items),
    st.just({"unset": ["log"]}),
    st.just({"unset": ["log", "facts"]}),
    st.just({}),
)


@given(st.lists(deltas, max_size=12))
def test_stored_deltas_fold_as_checked_ones(past: list[dict[str, Any]]) -> None:
    stored = [decode(canonical(delta)) for delta in past]
    assert fold({}, stored, stored=True) == fold({}, past)


@pytest.mark.parametrize(
    "past",
    [
        [{"append": {"log": [1]}}, [7]],
        [{"set": {"log": {}}}, {"append": {"log": [1]}}],
        [{"append": 5}],
        [{"append": {"log": 5}}],
        [{"sett": {"log": 5}}],
    ],
    ids=str,
)
@pytest.mark.parametrize("stored", [False, True])
def test_what_cannot_be_applied_is_refused(past: list[Any], stored: bool) -> None:
    with pytest.raises(InvalidValue):
        fold({}, past, stored=stored)
