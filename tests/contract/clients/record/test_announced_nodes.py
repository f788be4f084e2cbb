"""Nodes that the adapters announce, so that their calls may begin."""

from __future__ import annotations

import pytest

from gatepost_client import agent
from gatepost_client.record.calls import PureCall
from gatepost_client.record.turn import wait_for_turn
from gatepost_client.wire.flow import Answer
from gatepost_client.wire.settings import Settings


@pytest.mark.requirement("E02")
def test_a_script_announces_where_its_models_are_called() -> None:
    @agent
    def asks() -> None: ...

    assert asks.describe()["nodes"] == ["work", "model"]


def test_a_call_begins_at_its_announced_node_and_keeps_its_own_key() -> None:
    call = PureCall("billing.model", "billing.model 2", "model", "m-1", {}, announced="model")
    assert call.position == {"node": "model", "index": 0, "key": "billing.model 2"}
    assert PureCall("look", "look", "activity", "look", {}).position["node"] == "look"


@pytest.mark.requirement("E02")
def test_each_lease_announces_what_is_known_by_then() -> None:
    known = {"tools": {"pay": {}}}
    flow = wait_for_turn("t-1", Settings("https://gatepost.example", "token"), lambda: known)
    next(flow)
    news = {"seq": 1, "do": "take", "thread": {"status": "queued"}, "approvals": [], "lease": ""}
    sent = flow.send(Answer(200, {}, news))
    assert (sent.path, sent.body["external"]) == ("/api/v1/threads/t-1/lease/", known)
