"""Deltas: what is one, and what applying, folding and growing in place give."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkpoints.errors import InvalidValue
from checkpoints.state.deltas import (
    Folder,
    apply,
    canonical,
    delta_of_changes,
    fold,
    validate_delta,
)
from tests.unit.checkpoints.strategies import texts, values

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


@pytest.mark.slow
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


@pytest.mark.nightly
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
    assert delta_of_changes({}) == {}
    with pytest.raises(InvalidValue) as caught:
        delta_of_changes({"report": ["\ud800"]})
    assert caught.value.path == "$.report[0]"
