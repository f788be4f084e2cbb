"""States of every version of the agent, led to the form of now; tried on those that it wrote."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from checkpoints.state import deltas
from gatepost_agents.market_research.agent import Research, graph
from gatepost_agents.market_research.versions import upgrades
from tests.unit.golden.rows import History, histories

pytestmark = pytest.mark.requirement("B39")

NOW = graph.schema_version
NAMES = {1: {"ignore_columns": "ignore"}}


def states() -> list[Any]:
    """(history, number, state) of each checkpoint that code wrote: before load, ..., the end."""
    results = []
    for history in histories():
        state: dict[str, Any] = {}
        checkpoints = json.loads(history.text())["tables"]["gp_checkpoint"]
        for row in sorted(checkpoints, key=lambda row: row["number"]):
            state = deltas.apply(state, row["delta"])
            name = f"{history}-{row['number']}"
            results.append(pytest.param(history, row["number"], state, id=name))
    return results


def test_every_version_has_its_way() -> None:
    for version in range(1, NOW + 1):
        assert len(upgrades.plan(version, NOW)) == NOW - version


@pytest.mark.parametrize(("history", "number", "state"), states())
def test_a_state_fits_the_form_of_now_and_keeps_what_it_held(
    history: History, number: int, state: dict[str, Any]
) -> None:
    value = copy.deepcopy(state)
    result = upgrades.upgrade(state, history.version, NOW)
    assert state == value, "an upgrade changes nothing that it is given"
    graph.check_loaded(result)
    assert set(result) == set(Research.model_fields)
    names = NAMES.get(history.version, {})
    assert {names.get(c, c): v for c, v in state.items()}.items() <= result.items()
    clean = number >= 2
    assert result["totals"] == ({"rows": 60, "kept": 60, "dropped": 0} if clean else {})
    assert result["ignore"] == ["weight"]


@pytest.mark.parametrize(("history", "number", "state"), states())
def test_the_way_can_be_gone_step_by_step(
    history: History, number: int, state: dict[str, Any]
) -> None:
    result = state
    for version in range(history.version, NOW):
        result = upgrades.upgrade(result, version, version + 1)
    assert result == upgrades.upgrade(state, history.version, NOW)


def test_rows_that_were_dropped_are_counted() -> None:
    summary = {"rows_in": 200, "rows_out": 196, "dropped": []}
    result = upgrades.upgrade({"ignore_columns": [], "summary": summary}, 1, NOW)
    assert result["totals"] == {"rows": 200, "kept": 196, "dropped": 4}
