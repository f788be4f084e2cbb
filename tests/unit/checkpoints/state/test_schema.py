"""Upgrades of the state schema: planned as a whole, or refused before anything is touched."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkpoints.errors import GatepostError, NewerThanCode, NoUpgradePath, UpgradeFailed
from checkpoints.state.deltas import canonical
from checkpoints.state.schema import Upgrades
from tests.unit.checkpoints.strategies import texts, values


@pytest.fixture
def upgrades() -> Upgrades:
    registry = Upgrades()

    @registry.step(1)
    def v1_to_v2(state: dict[str, Any]) -> dict[str, Any]:
        return {**state, "tags": [state["tag"]]}

    @registry.step(2)
    def v2_to_v3(state: dict[str, Any]) -> dict[str, Any]:
        del state["tag"]
        state["tags"].append("v3")
        return state

    return registry


def test_steps_are_planned_and_done_in_order(upgrades: Upgrades) -> None:
    assert [function.__name__ for function in upgrades.plan(1, 3)] == ["v1_to_v2", "v2_to_v3"]
    assert upgrades.plan(2, 2) == []
    assert upgrades.upgrade({"tag": "a"}, 1, 3) == {"tags": ["a", "v3"]}
    assert upgrades.upgrade({"tag": "a"}, 1, 2) == {"tag": "a", "tags": ["a"]}


def test_the_old_state_stays_as_it_was_even_where_a_step_mutates(upgrades: Upgrades) -> None:
    old: Any = {"tag": "a", "tags": ["x"]}
    assert upgrades.upgrade(old, 2, 3) == {"tags": ["x", "v3"]}
    assert old == {"tag": "a", "tags": ["x"]}


@given(st.dictionaries(texts, values, max_size=4), st.integers(1, 9))
def test_without_a_difference_the_state_is_the_same(state: Any, version: int) -> None:
    assert canonical(Upgrades().upgrade(state, version, version)) == canonical(state)


@given(st.sets(st.integers(1, 6)), st.integers(1, 7), st.integers(1, 7))
def test_a_plan_is_complete_or_refused(known: set[int], start: int, end: int) -> None:
    registry = Upgrades()
    for version in known:
        registry.step(version)(lambda state, version=version: {"path": [*state["path"], version]})
    missing = [version for version in range(start, end) if version not in known]
    facts = {"stored": start, "code": end}
    if start > end:
        with pytest.raises(NewerThanCode) as newer:
            registry.upgrade({"path": []}, start, end)
        assert newer.value.facts == facts
    elif missing:
        with pytest.raises(NoUpgradePath) as no_path:
            registry.upgrade({"path": []}, start, end)
        assert no_path.value.facts == {**facts, "missing": missing[0]}
    else:
        assert registry.upgrade({"path": []}, start, end) == {"path": [*range(start, end)]}


def test_a_refusal_says_what_to_do(upgrades: Upgrades) -> None:
    with pytest.raises(NewerThanCode, match="schema 4, this code 3; install the newer code"):
        upgrades.plan(4, 3)
    with pytest.raises(NoUpgradePath, match="No upgrade from schema 3 to 4 is registered"):
        upgrades.upgrade({"tag": "a"}, 1, 5)


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda state: state["missing"], "KeyError: 'missing'"),
        (lambda state: None, "whole state"),
        (lambda state: [state], "whole state"),
        (lambda state: {"tags": {"a"}}, r"\$\.tags: set is not a JSON type"),
    ],
)
def test_a_step_that_fails_stops_the_upgrade_and_keeps_the_cause(function: Any, words: str) -> None:
    registry = Upgrades()
    registry.step(1)(function)
    with pytest.raises(UpgradeFailed, match=f"from schema 1 to 2 failed: .*({words})") as caught:
        registry.upgrade({"tag": "a"}, 1, 2)
    assert isinstance(caught.value, GatepostError)
    assert caught.value.__cause__ is not None
    assert caught.value.facts == {"stored": 1, "code": 2, "failed": 1}


def test_registering_twice_or_below_one_is_a_mistake_of_the_author(upgrades: Upgrades) -> None:
    with pytest.raises(ValueError, match="two upgrades from schema 1"):
        upgrades.step(1)(lambda state: state)
    with pytest.raises(ValueError, match="count from 1"):
        upgrades.step(0)
