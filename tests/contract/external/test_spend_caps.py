"""Agents that work elsewhere reserve what a model call may cost as ours do, by beginning it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from approvals.policies import changes as policies
from checkpoints import store
from tests.support.cast import Cast
from tests.unit.checkpoints.builders import rows

from .entry import Agent

pytestmark = [pytest.mark.django_db, pytest.mark.requirement("G06")]


def test_calls_begun_at_the_same_time_stay_below_a_cap(
    agent: Agent, cast: Cast, settings: Any
) -> None:
    settings.GATEPOST_CALL_RESERVE = "0.40"
    name = agent.agent
    policies.set_cap(
        cast.workspace, scope="agent", agent=name, per="total", max_cost="1", actor="user:1"
    )
    agents = [replace(agent, thread="", lease="") for _ in range(3)]
    for one in agents:
        one.start()
        one.take()
    first, second, third = agents
    assert first.begin("ask", kind="model")["do"] == "call"
    assert first.begin("ask", kind="model")["do"] == "call", "the same call once more"
    assert second.begin("ask", kind="model")["do"] == "call"
    stopped = third.begin("ask", kind="model")
    assert stopped["do"] == "stop"
    assert "calls under way" in stopped["reason"]
    # What it really cost takes the place of what was reserved.
    first.settle("ask", kind="model", result="yes", usage={"cost": "0.05", "model": "m"})
    rows("UPDATE gp_thread SET wake_at = clock_timestamp() WHERE status = 'sleeping'")
    assert store.wake_sleepers(owner="sweep") == 1, "it is tried again by itself"
    third.lease = ""
    third.take()
    assert third.begin("ask", kind="model")["do"] == "call"
    second.settle("ask", kind="model", result="yes", usage={"cost": "0.95", "model": "m"})
    stopped = second.begin("more", kind="model")
    assert stopped["do"] == "stop"
    assert "the spend cap is 1.00" in stopped["reason"]
