"""Policies that name nodes hold agents that work elsewhere, whatever they report or leave out."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from approvals.policies import changes as policies
from approvals.policies.drafts import Draft
from approvals.verification.proof import verify
from checkpoints import queries
from dashboard.threads.edit import edit
from dashboard.threads.fork import fork as fork_thread
from dashboard.threads.pause import PAUSE, RESUME, Pause, Resume
from tests.support.cast import Cast

from .entry import Agent

pytestmark = pytest.mark.django_db
NODES = ["look", "pay"]


@pytest.fixture
def held(agent: Agent, cast: Cast) -> Agent:
    """An agent whose node `pay` needs people; its lease is on the first step."""
    demand(cast)
    tools = {"charge": {}, "read": {}}
    agent.start(framework="some-framework", nodes=NODES, tools=tools, input={"n": 0})
    agent.take()
    return agent


def demand(cast: Cast, condition: str = "node == 'pay'", **more: Any) -> Any:
    draft = Draft("Before paying", condition, **more)
    return policies.make(cast.workspace, draft, actor="user:0")


@pytest.mark.requirement("E02")
def test_a_checkpoint_that_names_the_node_waits_for_people(held: Agent) -> None:
    made = held.commit(1, nodes=["look"], next_nodes=["pay"], delta={"set": {"n": 1}})
    assert made["thread"]["status"] == "waiting"
    step = held.get("next/")
    (request,) = step["approvals"]
    assert (step["do"], request["node"], request["tool"]) == ("wait", "pay", "")
    assert request["title"] == "Continue with the node pay"
    refused = held.call("POST", "checkpoints/", {"step": 2, "delta": {}})
    assert refused.code == "lease-lost"
    refused = held.call("POST", "lease/", {"name": "host-2"})
    assert refused.code == "not-allowed-now"
    held.decide()
    held.take()
    assert held.begin("pay#0", node="pay", args={})["do"] == "call"
    assert verify(UUID(held.thread)).intact


@pytest.mark.parametrize("kind", ["activity", "model", "effect"])
def test_a_call_at_the_node_waits_where_no_checkpoint_named_it(held: Agent, kind: str) -> None:
    assert held.begin("x#0", kind=kind, node="look", args={})["do"] == "call"
    if kind == "effect":  # one that is left open would stop the thread
        held.settle("x#0", kind=kind, node="look", result=1)
    begun = held.begin("x#0", kind=kind, node="pay", args={})
    assert (begun["do"], begun["thread"]["status"]) == ("wait", "waiting")
    held.decide("reject", comment="not today")
    lease = held.take()
    assert lease["thread"]["policies_name_nodes"] is True
    begun = held.begin("x#0", kind=kind, node="pay", args={})
    assert (begun["do"], begun["reason"]) == ("refused", "not today")


def test_the_node_where_a_thread_begins(agent: Agent, cast: Cast) -> None:
    demand(cast, "node == 'look'")
    agent.start(nodes=NODES)
    refused = agent.call("POST", "lease/", {"name": "host-1"})
    assert refused.code == "not-allowed-now"
    assert agent.get("next/")["do"] == "wait"
    agent.decide()
    assert agent.take()["thread"]["next_nodes"] == ["look"]


def test_a_refusal_before_a_reported_node_ends_the_thread(held: Agent, cast: Cast) -> None:
    held.commit(1, nodes=["look"], next_nodes=["pay"], delta={})
    held.decide("reject", comment="not today")
    assert held.call("POST", "lease/", {"name": "host-1"}).code == "not-allowed-now"
    row = queries.thread(UUID(held.thread), workspace=cast.workspace)
    assert (row.status, "Before pay: " in row.status_reason) == ("failed", True)
    assert "not today" in row.status_reason


def test_an_edit_after_the_decision_asks_again(held: Agent, cast: Cast) -> None:
    held.commit(1, nodes=["look"], next_nodes=["pay"], delta={"set": {"n": 1}})
    held.decide()
    PAUSE.run(cast.actor("operator"), Pause(), UUID(held.thread))
    edit(cast.actor("operator"), UUID(held.thread), {"n": 2}, "more")
    RESUME.run(cast.actor("operator"), Resume(), UUID(held.thread))
    assert held.call("POST", "lease/", {"name": "host-1"}).code == "not-allowed-now"
    assert held.get("next/")["do"] == "wait"


def test_a_fork_before_the_node_asks_on_its_own(held: Agent, cast: Cast) -> None:
    held.commit(1, nodes=["look"], next_nodes=["pay"], delta={})
    head = queries.thread(UUID(held.thread), workspace=cast.workspace).head
    held.decide()
    fork = fork_thread(cast.actor("manager"), UUID(held.thread), head)
    other = Agent(held.send, held.people, held.agent, thread=str(fork))
    assert other.call("POST", "lease/", {"name": "host-1"}).code == "not-allowed-now"
    assert other.get("next/")["do"] == "wait"


def test_what_would_hold_a_call_is_read_and_nothing_changes(held: Agent, cast: Cast) -> None:
    def check(**more: Any) -> Any:
        body = {"node": "look", "key": "x#0", "kind": "effect", "tool": "charge", **more}
        return held.post("activities/check/", body)

    before = queries.thread(UUID(held.thread), workspace=cast.workspace)
    assert check()["asks"] is False
    answer = check(node="pay")
    assert (answer["asks"], answer["by"], answer["policy"]) == (
        True,
        "node policy",
        "Before paying",
    )
    assert answer["why"] == "The policy “Before paying” asks for it."
    answer = check(gate={"title": "Charge?"})
    assert (answer["by"], answer["risk"]) == ("gate", "medium")
    policies.make(cast.workspace, Draft("Cards", "tool == 'charge'"), actor="user:0")
    assert check()["by"] == "tool policy"
    assert check(kind="activity")["by"] == "tool policy"
    assert check(kind="activity", tool="read")["asks"] is False
    after = queries.thread(UUID(held.thread), workspace=cast.workspace)
    assert (after.last_seq, after.version, after.status) == (
        before.last_seq,
        before.version,
        "running",
    )
    assert queries.activities(UUID(held.thread)) == []


def test_no_name_of_a_node_lets_an_agent_elsewhere_pass(agent: Agent, cast: Cast) -> None:
    """It names its nodes itself, so a policy that allows one of them asks."""
    demand(cast, "node == 'look'", action="allow")
    agent.start(nodes=NODES)
    assert agent.call("POST", "lease/", {"name": "host-1"}).code == "not-allowed-now"
    (request,) = agent.get("next/")["approvals"]
    assert request["node"] == "look"
    agent.decide()
    assert agent.take()["thread"]["next_nodes"] == ["look"]
