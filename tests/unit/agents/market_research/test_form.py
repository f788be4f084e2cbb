"""The start form of market-research refuses what can be known before a thread exists."""

from __future__ import annotations

from typing import Any

import pytest

from dashboard.fields.faults import beside, schema_faults
from gatepost_agents.market_research.agent import Research
from gatepost_agents.market_research.input.columns import COLUMNS
from gatepost_agents.market_research.input.datasets import BUILTIN, dataset_path
from gatepost_agents.market_research.input.source import survey

SCHEMA = Research.model_json_schema()


def _refused(**values: Any) -> dict[str, str]:
    state = Research().model_dump(mode="json") | {"question": "Why?"} | values
    return dict(beside(fault) for fault in schema_faults(SCHEMA, state))


@pytest.mark.parametrize("dataset", BUILTIN)
def test_the_columns_are_those_of_the_table(dataset: str) -> None:
    assert set(COLUMNS[dataset]) == set(survey(dataset_path(dataset)).header)
    for column in COLUMNS[dataset]:
        query = {"measure": column.upper(), "groups": [column], "ignore": [column.title()]}
        assert _refused(dataset=dataset, **query) == {}


@pytest.mark.parametrize("dataset", BUILTIN)
@pytest.mark.parametrize("name", ["measure", "groups", "ignore"])
def test_an_unknown_column_of_a_built_in_table_is_refused(dataset: str, name: str) -> None:
    value: Any = "no_such" if name == "measure" else ["origin", "no_such"]
    refused = _refused(dataset=dataset, **{name: value})
    assert list(refused) == [name]
    assert f"must be a column of {dataset}: " in refused[name]
    assert "[" not in refused[name]


def test_a_file_of_one_s_own_may_have_any_column() -> None:
    assert _refused(file={"$artifact": "ab" * 32, "name": "t.csv"}, measure="no_such") == {}


def test_an_empty_question_is_refused() -> None:
    assert _refused(question="") == {"question": "This must not be empty."}
