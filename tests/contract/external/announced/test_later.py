"""What an agent announces after a thread began: its tools and nodes may be begun there as well."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from approvals.policies import changes as policies
from approvals.policies.drafts import Draft
from approvals.verification.proof import verify
from checkpoints import queries
from tests.support.cast import Cast
from workers.external.announcement import Announcement, announce

from ..entry import Agent

pytestmark = pytest.mark.django_db
ARGS = {"amount": "10.00"}
LATER: dict[str, Any] = {
    "tools": {"pay": {"idempotent": True, "undo": "refund"}},
    "nodes": ["plan"],
}


def _take(agent: Agent, external: Any) -> None:
    body = {"name": agent.name, "seconds": 60, "external": external}
    agent.lease = agent.post("lease/", body)["token"]


def _begin(agent: Agent, **more: Any) -> Any:
    body = {"node": "work", "key": "pay#0", "kind": "effect", "tool": "pay", "args": ARGS}
    return agent.call("POST", "activities/begin/", {**body, **more})


@pytest.fixture
def bare(agent: Agent) -> Agent:
    """A thread that began before its program named a tool."""
    agent.start(tools={})
    return agent


@pytest.mark.slow
@pytest.mark.requirement("E02")
@pytest.mark.parametrize("kind", ["activity", "effect"])
def test_a_program_announces_its_tools_with_the_lease(bare: Agent, kind: str) -> None:
    bare.take()
    assert _begin(bare, kind=kind).status == 422
    bare.release("queued")
    _take(bare, LATER)
    begun = _begin(bare, kind=kind, node="plan")
    assert (begun.status, begun.body["do"]) == (200, "call")
    settled = {"node": "plan", "key": "pay#0", "kind": kind, "tool": "pay", "args": ARGS}
    bare.post("activities/settle/", {**settled, "state": "done", "result": 1})
    assert verify(UUID(bare.thread)).intact


@pytest.mark.requirement("E02")
def test_a_later_start_of_the_agent_announces_as_well(bare: Agent) -> None:
    Agent(bare.send, bare.people, bare.agent).start(**LATER)
    bare.take()
    begun = _begin(bare).body
    assert (begun["do"], begun["activity"]["undo"]) == ("call", "refund")


def test_the_thread_keeps_what_it_began_with(agent: Agent, cast: Cast) -> None:
    agent.start(tools={"pay": {"undo": "refund"}})
    before = queries.thread(UUID(agent.thread), workspace=cast.workspace)
    _take(agent, {"tools": {"pay": {"undo": "", "idempotent": True}, "mail": {}}})
    assert _begin(agent).body["activity"]["undo"] == "refund"
    after = queries.thread(UUID(agent.thread), workspace=cast.workspace)
    assert after.agent_version_id == before.agent_version_id
    newest = queries.agent(agent.agent, workspace=cast.workspace)
    assert sorted(newest.tools) == ["mail", "pay"]


@pytest.mark.requirement("E02")
def test_a_policy_holds_what_was_announced_later(bare: Agent, cast: Cast) -> None:
    condition = f"agent == '{bare.agent}'"
    policies.make(cast.workspace, Draft("All of it", condition), actor="user:0")
    _take(bare, LATER)
    assert _begin(bare, kind="activity").body["do"] == "wait"


@pytest.mark.requirement("E02")
def test_what_another_agent_or_workspace_announced_does_not_count(bare: Agent, cast: Cast) -> None:
    Agent(bare.send, bare.people).start(**LATER)
    elsewhere = Announcement(tools=LATER["tools"], nodes=LATER["nodes"])
    announce(bare.agent, elsewhere, workspace=cast.elsewhere)
    bare.take()
    assert _begin(bare).status == 422


@pytest.mark.parametrize(
    ("external", "path"),
    [
        ({"tools": {"p\u0430y": {}}}, "$.external.tools"),
        ({"nodes": ["pay", "pay"]}, "$.external.nodes"),
        ({"tools": {"pay": {"schema": {"type": "nothing"}}}}, "$.external.tools.pay.schema"),
    ],
)
def test_a_later_announcement_is_checked_as_one_at_a_start(
    bare: Agent, external: Any, path: str
) -> None:
    body = {"name": bare.name, "seconds": 60, "external": external}
    answer = bare.call("POST", "lease/", body)
    assert answer.status == 422
    assert path in str(answer.body)
    assert bare.get("next/")["do"] == "take"
