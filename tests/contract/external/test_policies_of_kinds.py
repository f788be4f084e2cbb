"""A policy on a tool holds its calls at the entry point, whatever kind the agent gives them."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from approvals.policies import changes as policies
from approvals.policies.drafts import Draft
from approvals.verification.proof import verify
from checkpoints import queries
from tests.support.cast import Cast

from .entry import Agent

pytestmark = pytest.mark.django_db
KINDS = ["activity", "model", "effect"]
ARGS = {"amount": "10.00"}


def demand(cast: Cast, condition: str = "tool == 'charge'", **more: Any) -> Any:
    draft = Draft("Charges", condition, **more)
    return policies.make(cast.workspace, draft, actor="user:0")


@pytest.fixture
def held(agent: Agent, cast: Cast) -> Agent:
    demand(cast)
    agent.start(tools={"charge": {"idempotent": True}})
    agent.take()
    return agent


@pytest.mark.requirement("E02")
@pytest.mark.parametrize("kind", KINDS)
def test_a_call_waits_is_edited_and_is_settled_as_an_effect(held: Agent, kind: str) -> None:
    begun = held.begin("charge#0", kind=kind, args=ARGS)
    assert (begun["do"], begun["thread"]["status"]) == ("wait", "waiting")
    held.decide("edit", args={"amount": "9.00"})
    held.take()
    begun = held.begin("charge#0", kind=kind, args=ARGS)
    assert (begun["do"], begun["args"]) == ("call", {"amount": "9.00"})
    saved = held.settle("charge#0", kind=kind, result="ok")
    assert (saved["kind"], saved["state"], saved["args"]) == ("effect", "done", {"amount": "9.00"})
    assert held.begin("charge#0", kind=kind, args=ARGS)["result"] == "ok"
    assert verify(UUID(held.thread)).intact


@pytest.mark.parametrize("kind", KINDS)
def test_a_refusal_is_heard_whatever_the_kind(held: Agent, kind: str) -> None:
    held.begin("charge#0", kind=kind, args=ARGS)
    held.decide("reject", comment="too much")
    held.take()
    begun = held.begin("charge#0", kind=kind, args=ARGS)
    assert (begun["do"], begun["reason"]) == ("refused", "too much")


@pytest.mark.requirement("E02")
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_settled_that_was_not_begun(held: Agent, kind: str) -> None:
    body = {"node": "work", "key": "charge#0", "kind": kind, "tool": "charge", "args": ARGS}
    answer = held.call("POST", "activities/settle/", {**body, "state": "done", "result": 1})
    assert answer.code == "not-allowed-now"
    assert queries.activities(UUID(held.thread)) == []


@pytest.mark.requirement("E02")
@pytest.mark.parametrize("kind", ["activity", "model", "value"])
def test_nothing_is_recorded_beside_the_gate(held: Agent, kind: str) -> None:
    one = {"node": "work", "key": "c", "kind": kind, "tool": "charge", "args": ARGS, "result": 1}
    answer = held.call("POST", "activities/record/", {"records": [one]})
    assert answer.code == "not-allowed-now"
    assert queries.activities(UUID(held.thread)) == []


def test_a_policy_that_names_no_tool_holds_announced_tools_of_any_kind(
    agent: Agent, cast: Cast
) -> None:
    demand(cast, f"agent == '{agent.agent}'")
    agent.start(tools={"charge": {}, "read": {"effect": False}})
    agent.take()
    assert agent.begin("read#0", kind="activity", tool="read")["do"] == "call"
    assert agent.begin("charge#0", kind="activity", args=ARGS)["do"] == "wait"


def test_a_check_and_the_lease_say_so_before(held: Agent) -> None:
    body = {"node": "work", "key": "c", "kind": "activity", "tool": "charge", "args": ARGS}
    assert held.post("activities/check/", body)["by"] == "tool policy"
    assert held.get("next/")["thread"]["policies_ask"] is True


def test_a_begin_of_a_node_asks_about_no_tool(held: Agent) -> None:
    assert held.begin("before#0", kind="node", args={})["do"] == "call"
    assert queries.activities(UUID(held.thread)) == []


@pytest.mark.requirement("E02")
def test_effects_of_announced_tools_only(agent: Agent) -> None:
    agent.start(tools={"read": {}})
    agent.take()
    body = {"node": "work", "key": "charge#0", "kind": "effect", "tool": "charge", "args": ARGS}
    answer = agent.call("POST", "activities/begin/", body)
    assert answer.status == 422
    assert answer.body["errors"][0]["path"] == "$.tool"
    assert "external.tools" in str(answer.body)
    effect = {"tool": "charge", "args": ARGS, "gate": {"title": "Charge?"}}
    one = {"node": "work", "key": "charge#0", "effect": effect}
    answer = agent.call("POST", "approvals/", {"ask": [one]})
    assert answer.status == 422
    assert "$.ask[0].effect.tool" in str(answer.body)
    assert queries.activities(UUID(agent.thread)) == []


@pytest.mark.requirement("E02")
@pytest.mark.parametrize(
    "path", ["activities/begin/", "activities/settle/", "activities/record/"], ids=str
)
def test_activities_of_announced_tools_only(agent: Agent, path: str) -> None:
    agent.start(tools={"read": {"effect": False}})
    agent.take()
    call = {"node": "work", "key": "look#0", "kind": "activity", "tool": "look", "args": ARGS}
    done = {**call, "result": 1}
    bodies = {"activities/begin/": call, "activities/settle/": {**done, "state": "done"}}
    answer = agent.call("POST", path, bodies.get(path, {"records": [done]}))
    assert (answer.status, answer.code) == (422, "invalid")
    where = "$.records[0].tool" if "record" in path else "$.tool"
    assert answer.body["errors"][0]["path"] == where
    assert queries.activities(UUID(agent.thread)) == []


@pytest.mark.parametrize(
    ("kind", "tool"), [("model", "m-1"), ("node", "look"), ("activity", "read")]
)
def test_models_nodes_and_announced_tools_begin(agent: Agent, kind: str, tool: str) -> None:
    agent.start(tools={"read": {"effect": False}})
    agent.take()
    assert agent.begin("look#0", kind=kind, tool=tool, args={})["do"] == "call"


@pytest.mark.requirement("E02")
@pytest.mark.parametrize("path", ["activities/begin/", "activities/check/"])
@pytest.mark.parametrize("kind", KINDS)
def test_calls_at_announced_nodes_only(agent: Agent, path: str, kind: str) -> None:
    agent.start(nodes=["plan"], tools={"charge": {}})
    agent.take()
    body = {"key": "c#0", "kind": kind, "tool": "charge", "args": ARGS}
    answer = agent.call("POST", path, {**body, "node": "elsewhere"})
    assert (answer.status, answer.body["errors"][0]["path"]) == (422, "$.node")
    assert "external.nodes" in str(answer.body)
    for node in ("plan", "charge"):  # a tool is a node of its own name
        assert agent.call("POST", path, {**body, "node": node}).status == 200
    # A begin of a node starts nothing: it can only add a hold.
    other = {**body, "kind": "node", "node": "elsewhere"}
    assert agent.call("POST", path, other).status == 200


@pytest.mark.requirement("E02")
@pytest.mark.parametrize("kind", ["activity", "effect"])
def test_a_check_refuses_what_a_begin_refuses(agent: Agent, kind: str) -> None:
    agent.start(tools={"read": {}})
    agent.take()
    for tool in ("look", "re\u0430d"):
        body = {"node": "work", "key": "look#0", "kind": kind, "tool": tool, "args": ARGS}
        begun = agent.call("POST", "activities/begin/", body)
        checked = agent.call("POST", "activities/check/", body)
        assert (begun.status, checked.status) == (422, 422)
        assert checked.body["errors"] == begun.body["errors"]


@pytest.mark.requirement("E02")
@pytest.mark.parametrize("kind", ["activity", "model"])
def test_a_call_without_a_name_is_not_recorded(agent: Agent, kind: str) -> None:
    agent.start()
    agent.take()
    one = {"node": "work", "key": "c", "kind": kind, "args": ARGS, "result": 1}
    answer = agent.call("POST", "activities/record/", {"records": [one]})
    assert (answer.status, answer.body["errors"][0]["path"]) == (422, "$.records[0].tool")
    assert queries.activities(UUID(agent.thread)) == []
    agent.post("activities/record/", {"records": [{**one, "kind": "value"}]})


@pytest.mark.requirement("E02")
@pytest.mark.parametrize("node", ["charge", "work:charge", "Charge", "sub"])
@pytest.mark.parametrize("tool", ["charge", "Charge"])
def test_no_call_hides_as_a_node(held: Agent, node: str, tool: str) -> None:
    """A begin of the kind `node` starts and records nothing, so that nothing can end there."""
    at = {"node": node, "key": "charge#0", "tool": tool, "args": ARGS}
    begun = held.call("POST", "activities/begin/", {**at, "kind": "node"})
    assert begun.status == 200
    assert begun.body.get("activity") is None
    assert not begun.body.get("idempotency_key")
    done = {**at, "result": 1}
    for kind in ("node", *KINDS, "value"):
        settle = {**done, "kind": kind, "state": "done"}
        assert held.call("POST", "activities/settle/", settle).status >= 400, kind
        recorded = {"records": [{**done, "kind": kind}]}
        assert held.call("POST", "activities/record/", recorded).status >= 400, kind
    assert queries.activities(UUID(held.thread)) == []
    # Its effect is held, as if no node had begun.
    assert held.begin("charge#0", args=ARGS)["do"] == "wait"


@pytest.mark.requirement("E02")
def test_a_node_of_a_subgraph_begins_nothing_that_is_not_announced(
    agent: Agent, cast: Cast
) -> None:
    """LangGraph's adapter announces the nodes of the graph itself, not those below them."""
    demand(cast)
    agent.start(nodes=["plan"], tools={"charge": {}, "read": {"effect": False}})
    agent.take()
    below = {"node": "plan:pay", "key": "c#0", "args": ARGS}
    for kind in KINDS:
        for tool in ("charge", "read", "pay"):
            body = {**below, "kind": kind, "tool": tool}
            assert agent.call("POST", "activities/begin/", body).status == 422, (kind, tool)
    # At the node that contains it its tools are held as anywhere.
    for kind in KINDS:
        agent.lease = ""
        agent.start(name=kind, nodes=["plan"], tools={"charge": {}})
        agent.take()
        body = {**below, "node": "plan", "kind": kind, "tool": "charge"}
        assert agent.post("activities/begin/", body)["do"] == "wait", kind
    assert queries.activities(UUID(agent.thread)) == []
