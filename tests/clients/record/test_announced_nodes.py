"""Nodes that the adapters announce, so that their calls may begin."""

from __future__ import annotations

import pytest

from gatepost_client import agent
from gatepost_client.record.calls import PureCall


@pytest.mark.requirement("E02")
def test_a_script_announces_where_its_models_are_called() -> None:
    @agent
    def asks() -> None: ...

    assert asks.describe()["nodes"] == ["work", "model"]


def test_a_call_begins_at_its_announced_node_and_keeps_its_own_key() -> None:
    call = PureCall("billing.model", "billing.model 2", "model", "m-1", {}, announced="model")
    assert call.position == {"node": "model", "index": 0, "key": "billing.model 2"}
    assert PureCall("look", "look", "activity", "look", {}).position["node"] == "look"
