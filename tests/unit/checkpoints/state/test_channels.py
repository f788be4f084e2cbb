"""Reducers, the delta of a step, and the state hash."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal as Exact
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from checkpoints.errors import InvalidValue
from checkpoints.state import digests
from checkpoints.state.channels import (
    Append,
    Custom,
    Decimal,
    Digests,
    LastValue,
    Merge,
    Reducer,
    Sum,
    build_delta,
    from_json,
    reducers_of,
)
from checkpoints.state.deltas import MAX_INTEGER, Folder, apply, canonical
from tests.unit.checkpoints.strategies import texts, values

REDUCERS: dict[str, Reducer] = {
    "goal": LastValue(),
    "log": Append(),
    "facts": Merge(),
    "count": Sum(),
    "cost": Decimal(),
    "best": Custom(lambda current, update: update if current is None else max(current, update)),
}


def step(state: Any, *updates: tuple[str, Any]) -> Any:
    return build_delta(state, updates, REDUCERS)


# --- reducers ---------------------------------------------------------------------------------


def test_each_kind_joins_in_its_own_way() -> None:
    state = {
        "goal": "old", "log": [1], "facts": {"x": 1}, "count": 1, "cost": "0.10", "best": 3,
    }  # fmt: skip
    first = {"log": [2, 3], "facts": {"x": 2, "y": 2}, "count": 2, "cost": "0.20", "best": 7}
    second = {"log": [4], "facts": {"y": 3}, "count": 0.5, "cost": "-1", "best": 5, "goal": "new"}
    delta = step(state, ("a", first), ("b", second))
    assert delta == {
        "set": {"goal": "new", "count": 3.5, "cost": "-0.70", "best": 7},
        "append": {"log": [2, 3, 4]},
        "merge": {"facts": {"x": 2, "y": 3}},
    }
    assert apply(state, delta)["facts"] == {"x": 2, "y": 3}


def test_each_kind_starts_without_a_value() -> None:
    updates = {"goal": 1, "log": [1], "facts": {"x": 1}, "count": 2, "cost": "2.50", "best": 4}
    for state in ({}, dict.fromkeys(updates)):
        assert apply(state, step(state, ("a", updates))) == updates


def test_two_writers_of_a_last_value_in_one_step_are_refused_by_name() -> None:
    with pytest.raises(InvalidValue, match=r"more than once .* \(returned by a, b\)") as caught:
        step({}, ("a", {"goal": 1}), ("b", {"goal": 1}))
    assert caught.value.path == "$.goal"


@pytest.mark.parametrize(
    ("state", "update", "path", "words"),
    [
        ({}, {"log": "text"}, "$.log", "lists"),
        ({}, {"log": None}, "$.log", "lists"),
        ({"log": "text"}, {"log": [1]}, "$.log", "lists"),
        ({}, {"facts": [1]}, "$.facts", "objects"),
        ({"facts": [1]}, {"facts": {}}, "$.facts", "objects"),
        ({}, {"count": "1"}, "$.count", "numbers"),
        ({}, {"count": True}, "$.count", "numbers"),
        ({}, {"count": None}, "$.count", "numbers"),
        ({"count": "1"}, {"count": 1}, "$.count", "numbers"),
        ({"count": MAX_INTEGER}, {"count": 1}, "$.count", "beyond"),
        ({"count": 1.7e308}, {"count": 1.7e308}, "$.count", "infinit"),
        ({}, {"cost": 1.5}, "$.cost", "decimal strings"),
        ({}, {"cost": "1,50"}, "$.cost", "decimal strings"),
        ({}, {"cost": "1e3"}, "$.cost", "decimal strings"),
        ({}, {"cost": "007"}, "$.cost", "decimal strings"),
        ({}, {"cost": "NaN"}, "$.cost", "decimal strings"),
        ({}, {"cost": "\u0661"}, "$.cost", "decimal strings"),
        ({}, {"cost": "1\n"}, "$.cost", "decimal strings"),
        ({"cost": ""}, {"cost": "1"}, "$.cost", "decimal strings"),
        ({"cost": "9" * 100}, {"cost": "1"}, "$.cost", "too many digits"),
        ({}, {"nowhere": 1}, "$.nowhere", "no such channel"),
        ({}, {"goal": [1, float("nan")]}, "$.goal[1]", "NaN"),
        ({}, {"log": ["a\0"]}, "$.log[0]", "NUL"),
        ({}, {"goal": (1,)}, "$.goal", "tuple"),
        ({}, [1], "$", "object of channels"),
        ({}, None, "$", "object of channels"),
    ],
)
def test_what_a_channel_does_not_take_is_refused_with_path_and_node(
    state: Any, update: Any, path: str, words: str
) -> None:
    with pytest.raises(InvalidValue, match=rf"{words}.* \(returned by writer\)") as caught:
        step(state, ("writer", update))
    assert caught.value.path == path


def test_a_custom_reducer_cannot_reach_the_past() -> None:
    def impure(current: Any, update: Any) -> Any:
        current["seen"].append(update["x"])
        update["x"] = 0
        return current

    state: Any = {"own": {"seen": [1]}}
    update = {"own": {"x": 2}}
    delta = build_delta(state, [("a", update), ("b", update)], {"own": Custom(impure)})
    assert delta == {"set": {"own": {"seen": [1, 2, 2]}}}
    assert state == {"own": {"seen": [1]}}
    assert update == {"own": {"x": 2}}


def test_a_custom_reducer_answers_storable_json_and_needs_its_code() -> None:
    with pytest.raises(InvalidValue, match="set is not a JSON type") as caught:
        build_delta({}, [("a", {"x": 1})], {"x": Custom(lambda current, update: {update})})
    assert caught.value.path == "$.x"
    with pytest.raises(InvalidValue, match="not loaded here"):
        build_delta({}, [("a", {"x": 1})], {"x": Custom()})


def test_appends_and_merges_of_nothing_are_left_out() -> None:
    delta = step({"log": [1], "facts": {}}, ("a", {"log": [], "facts": {}}), ("b", {}))
    assert not any(delta.values())
    assert step({}, ("a", {"log": []})) == {"set": {"log": []}}


def test_a_delta_names_channels_in_one_order_whatever_node_wrote_first() -> None:
    delta = step({}, ("a", {"goal": 1, "count": 1}), ("b", {"best": 1}))
    assert list(delta["set"]) == ["best", "count", "goal"]


def test_reducers_are_stored_by_name() -> None:
    stored = {channel: {**reducer.to_json(), "default": 1} for channel, reducer in REDUCERS.items()}
    assert stored["best"] == {"reducer": "custom", "default": 1}
    back = reducers_of(stored)
    assert {name: type(reducer) for name, reducer in back.items()} == {
        name: type(reducer) for name, reducer in REDUCERS.items()
    }
    assert from_json({"reducer": "last_value"}) == LastValue()
    for wrong in ({"reducer": "other"}, {"reducer": ["append"]}, {}, None, "append"):
        with pytest.raises(InvalidValue, match="unknown reducer"):
            from_json(wrong)


amounts = st.decimals(-(10**9), 10**9, places=4, allow_nan=False, allow_infinity=False)


@given(st.lists(amounts, min_size=1, max_size=8))
def test_decimals_add_exactly(several: list[Exact]) -> None:
    op, total = Decimal().join(None, [f"{amount:f}" for amount in several], "cost")
    assert op == "set"
    assert Exact(total) == sum(several)
    assert Decimal().join(total, ["0"], "cost") == ("set", total)


@pytest.mark.slow
@given(
    st.lists(st.tuples(st.lists(values, max_size=3), st.dictionaries(texts, values, max_size=3)))
)
def test_a_step_joins_as_its_updates_one_after_the_other(pairs: Any) -> None:
    updates = [(f"n{i}", {"log": log, "facts": facts}) for i, (log, facts) in enumerate(pairs)]
    start: Any = {"log": [0], "facts": {"a": 0}}
    one_by_one = start
    for update in updates:
        one_by_one = apply(one_by_one, step(one_by_one, update))
    at_once = step(start, *updates)
    assert canonical(apply(start, at_once)) == canonical(one_by_one)
    assert canonical(step(start, *updates)) == canonical(at_once)


# --- the state hash ---------------------------------------------------------------------------

CHANNELS = st.sampled_from(["log", "facts", "goal", "best", "unlisted", "\u00e4"])
lists = st.lists(values, max_size=3)
members = st.dictionaries(texts, values, max_size=3)
states = st.dictionaries(CHANNELS, lists | members | values, max_size=5)
changes = st.one_of(
    st.builds(lambda ch, v: {"set": {ch: v}}, CHANNELS, lists | members | values),
    st.builds(lambda ch, v: {"append": {ch: v}}, CHANNELS, lists),
    st.builds(lambda ch, v: {"merge": {ch: v}}, CHANNELS, members),
    st.builds(lambda ch: {"unset": [ch]}, CHANNELS),
    st.builds(
        lambda a, m, g: {"append": {"log": a}, "merge": {"facts": m}, "set": {"goal": g}},
        lists, members, values,
    ),
)  # fmt: skip


def hashed(data: bytes) -> bytes:
    return sha256(data).digest()


def spelt_out(state: Mapping[str, Any], reducers: Mapping[str, Reducer]) -> bytes:
    """The root as the docstring of `Digests` describes it, in the plainest way."""
    text = b"gatepost-state-1"
    for channel in sorted(state):
        value, reducer, name = state[channel], reducers.get(channel), channel.encode()
        kind, digest = b"v", hashed(canonical(value))
        if isinstance(reducer, Append) and isinstance(value, list):
            kind, digest = b"a", hashed(b"gatepost-append-1")
            for item in value:
                digest = hashed(digest + hashed(canonical(item)))
        if isinstance(reducer, Merge) and isinstance(value, dict):
            pairs = sorted((hashed(canonical(k)), hashed(canonical(v))) for k, v in value.items())
            kind, tops = b"m", b""
            for number in range(256):
                bucket = b"".join(key + item for key, item in pairs if key[0] == number)
                tops += hashed(bucket) if bucket else bytes(32)
            digest = hashed(b"gatepost-merge-1" + tops)
        text += len(name).to_bytes(4, "big") + name + kind + digest
    return hashed(text)


@pytest.mark.nightly
@given(states, st.lists(changes, max_size=8))
def test_the_root_depends_on_the_state_only_not_on_the_way_there(state: Any, several: Any) -> None:
    incremental, folder = Digests.of(state, REDUCERS), Folder(state)
    for delta in several:
        try:
            folder.add(delta)
        except InvalidValue:
            continue
        root = incremental.update(delta, folder.state)
        afresh = Digests.of(folder.state, REDUCERS)
        assert root == incremental.root == afresh.root == spelt_out(folder.state, REDUCERS)
        assert incremental.size == afresh.size == len(canonical(folder.state))


@pytest.mark.slow
@given(states, states)
def test_different_states_have_different_roots(one: Any, other: Any) -> None:
    assume(canonical(one) != canonical(other))
    assert Digests.of(one, REDUCERS).root != Digests.of(other, REDUCERS).root


def test_the_order_of_members_does_not_matter_in_a_large_object() -> None:
    """Large enough for several members in each of the 256 buckets."""
    facts: Any = {str(number): number for number in range(2_000)}
    backwards: Any = dict(reversed(facts.items()))
    roots = {Digests.of({"facts": part}, REDUCERS).root for part in (facts, backwards)}
    assert roots == {spelt_out({"facts": facts}, REDUCERS)}


def test_order_and_place_are_part_of_the_hash() -> None:
    def root(**state: Any) -> bytes:
        return Digests.of(state, REDUCERS).root

    assert root(log=[1, 2]) != root(log=[2, 1])
    assert root(log=[1, 2]) != root(log=[[1, 2]])
    assert root(log=[]) != root()
    assert root(goal=[1]) != root(log=[1]) != root(unlisted=[1])
    assert root(facts={"a": 1, "b": 2}) == root(facts={"b": 2, "a": 1})
    assert root(facts={"a": 1, "b": 2}) != root(facts={"a": 2, "b": 1})


EMPTY_ROOT = "2c83c27d014bad3527647e53e95604f4548c91a67619e5a5f6d32a7a0c7992bc"
STATE_ROOT = "58b7a430e7adad64a9fba81d8548f8af17415493144b00e7542941aaff658bc1"
WHOLE_ROOT = "fd4718b2fbe8bb04eddbb8e95d59d42600ceb396f8748eb843c0390ff7ea8e1e"


def test_the_form_of_the_hash_is_fixed() -> None:
    """These bytes stand in committed checkpoints: a change here breaks every history."""
    state: Any = {
        "goal": "Gr\u00fc\u00dfe",
        "log": [1, {"b": 0.5, "a": 1e22}, []],
        "facts": {"x": None, "y": [2.0]},
        "count": 3,
        "cost": "0.10",
        "unlisted": True,
    }
    assert Digests.of({}, REDUCERS).root.hex() == EMPTY_ROOT
    assert Digests.of(state, REDUCERS).root.hex() == STATE_ROOT
    assert Digests.of(state, {}).root.hex() == WHOLE_ROOT


def test_a_step_hashes_only_what_it_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    state: Any = {
        "log": [{"n": n} for n in range(3_000)],
        "facts": {f"k{n}": n for n in range(3_000)},
        "goal": "x" * 10_000,
        "count": 1,
    }
    incremental, folder = Digests.of(state, REDUCERS), Folder(state)
    written = 0

    def counting(value: object) -> bytes:
        nonlocal written
        raw = canonical(value)
        written += len(raw)
        return raw

    monkeypatch.setattr(digests, "canonical", counting)
    delta: Any = {"append": {"log": [{"n": 1}]}, "merge": {"facts": {"k5": 0}}, "set": {"count": 2}}
    folder.add(delta)
    incremental.update(delta, folder.state)
    assert 0 < written < 50
