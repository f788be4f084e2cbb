"""A value beside the one that it grew from: what both hold is skipped, and the page is the same."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkpoints.state import deltas
from dashboard.html import differences, list_pairs, trees
from dashboard.html.places import Places, Sides

NEW, OLD = "0198c5f2-6d1e-7a30-9b51-4f0b5a3c2d10:5", "0198c5f2-6d1e-7a30-9b51-4f0b5a3c2d10:4"

scalars = st.one_of(
    st.none(), st.booleans(), st.integers(0, 2), st.sampled_from([0.0, 1.0, "", "a", "b" * 450])
)
rows = st.fixed_dictionaries({"id": st.integers(0, 6), "total": st.integers(0, 2)})
messages = st.fixed_dictionaries({"role": st.sampled_from(["user", "tool"]), "content": scalars})
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.sampled_from("xyz"), inner, max_size=3)
    ),
    max_leaves=6,
)
lists = st.one_of(
    st.lists(values, max_size=5), st.lists(rows, max_size=5), st.lists(messages, max_size=5)
)
members = st.dictionaries(st.sampled_from("klmn"), values, max_size=4)
states = st.fixed_dictionaries({"log": lists, "facts": members}, optional={"goal": values})
steps = st.fixed_dictionaries(
    {},
    optional={
        "set": st.dictionaries(st.sampled_from(["goal", "other"]), values),
        "append": st.fixed_dictionaries({"log": lists}),
        "merge": st.fixed_dictionaries({"facts": members}),
    },
)


def drawn(new: Any, old: Any) -> list[Any]:
    """All that a page draws of two states."""
    sides = Sides(Places(NEW, new), Places(OLD, old))
    channels = differences.changed_channels(new, old)
    return [
        differences.changes(new, old),
        channels.words,
        trees.render(channels.new, channels.old, sides=sides, most=36),
        trees.render(new, old),
        trees.render(new, old, whole=True),
        trees.render(new, unfold=2, sides=sides, most=36),
    ]


def copy(value: Any) -> Any:
    return json.loads(json.dumps(value))


@given(states, steps)
def test_what_is_shared_is_drawn_as_what_is_equal(state: Any, step: Any) -> None:
    old = copy(state)
    new = deltas.apply(old, copy(step))
    assert drawn(new, old) == drawn(copy(new), old)


def calls(work: Any) -> int:
    """The functions of Python that are called."""
    count = 0

    def counted(_frame: Any, event: str, _arg: Any) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(counted)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


ITEMS: dict[str, Callable[[int], Any]] = {
    "texts": lambda n: f"{n}" + "x" * 450,
    "rows with an id": lambda n: {"id": n, "total": "1.00"},
    "rows": lambda n: {"day": n % 7, "total": "1.00"},
    "messages": lambda n: {"role": "user", "content": f"message {n}"},
    "lists": lambda n: [n, [n]],
}


@pytest.mark.requirement("F15")
@pytest.mark.parametrize("kind", ITEMS)
def test_a_long_list_costs_what_was_appended(kind: str) -> None:
    def cost(n: int) -> int:
        old = {"log": [ITEMS[kind](i) for i in range(n)], "goal": "a"}
        new = deltas.apply(old, {"append": {"log": [ITEMS[kind](n)]}})
        return calls(lambda: drawn_light(new, old))

    cost(10)  # what is made once
    assert cost(10_000) <= 1.1 * cost(100)


@pytest.mark.requirement("F15")
def test_a_large_object_costs_what_was_merged() -> None:
    def cost(n: int) -> int:
        old = {"facts": {f"k{i}": {"is": f"{i}"} for i in range(n)}}
        new = deltas.apply(old, {"merge": {"facts": {"k7": {"is": "seven"}, "new": {"is": ""}}}})
        return calls(lambda: drawn_light(new, old))

    cost(10)
    assert cost(10_000) <= 1.1 * cost(100)


def drawn_light(new: Any, old: Any) -> str:
    """What the thread's page draws."""
    sides = Sides(Places(NEW, new), Places(OLD, old))
    differences.changes(new, old)
    channels = differences.changed_channels(new, old)
    trees.render(new, unfold=2, sides=sides, most=36)
    return trees.render(channels.new, channels.old, sides=sides, most=36)


def test_links_lead_to_what_was_appended_behind_a_long_list() -> None:
    old = {"log": [{"id": n} for n in range(5_000)], "text": "y" * 500}
    new = deltas.apply(old, {"append": {"log": [{"id": 9_999, "text": "z" * 500}]}})
    html = drawn_light(new, old)
    assert set(re.findall(r"at=([^&\"]*)", html)) == {"/log/5000"}


def test_an_item_that_comes_once_more_reorders_nothing() -> None:
    for more in ("a", "b", {"x": 1}):
        old = ["a", "b", {"x": 1}]
        for new in ([*old, more], copy([*old, more])):
            assert not list_pairs.reordered(new, old)
            assert not list_pairs.reordered(old, new)
    assert list_pairs.reordered(["a", "c", "b"], ["a", "b", "c"])
