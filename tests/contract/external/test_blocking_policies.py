"""A policy that blocks refuses by itself, the same in every room where a policy is asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import UUID

import pytest

from approvals import queries as requests
from approvals.policies import changes as policies
from approvals.policies import node_policies
from approvals.policies.drafts import Draft
from approvals.verification.proof import verify
from checkpoints import queries
from checkpoints.states import EventKind, Status
from dashboard.gateway.calls import Dispatch, Ended, Held
from dashboard.identity import tokens
from tests.contract.world import World
from tests.unit.checkpoints.builders import rows
from tests.unit.workers.conftest import bench_of
from tests.unit.workers.graphs.effects import disguised, gated, named_nodes

from .conftest import driver
from .entry import Agent
from .gateway import Gateway

pytestmark = pytest.mark.django_db
ARGS = {"amount": "10.00"}
NOTE = "Nobody pays today"


@dataclass
class Rooms:
    """Where an action is asked for: the world, an agent that works elsewhere, the gateway."""

    world: World
    agent: Agent
    gateway: Gateway

    @property
    def workspace(self) -> UUID:
        return self.world.cast.workspace

    def policy(self, condition: str, name: str = "No payments", **more: Any) -> Any:
        draft = Draft(name, condition, **{"action": "block", "note": NOTE, **more})
        made = policies.make(self.workspace, draft, actor="user:0")
        node_policies.forget()
        return made


@dataclass
class Refused:
    """What came of it: the thread, what its author's code reason, what happened outside."""

    thread: UUID
    reason: str
    done: list[Any]


type Room = Callable[[Rooms], Refused]
ROOMS: dict[str, tuple[str, Room]] = {}


def room(name: str, condition: str) -> Callable[[Room], Room]:
    def enter(call: Room) -> Room:
        ROOMS[name] = (condition, call)
        return call

    return enter


def inside(rooms: Rooms, module: Any, done: list[Any], **input: Any) -> Refused:
    """An agent of ours, on the real engine."""
    done.clear()
    bench = bench_of(module)
    bench.workspace = rooms.workspace
    thread = bench.start(**input)
    while (row := bench.advance(thread)).status is Status.QUEUED:
        pass
    assert row.status in (Status.SUCCEEDED, Status.FAILED), row.status
    reason = bench.state(thread).get("outcome") or row.status_reason
    return Refused(thread, reason, [*done])


@room("effect", "tool == 'bill.pay'")
def _effect(rooms: Rooms) -> Refused:
    return inside(rooms, gated, gated.paid, asks=False)


@room("effect behind the author's gate", "tool == 'bill.pay'")
def _gate(rooms: Rooms) -> Refused:
    return inside(rooms, gated, gated.paid, asks=True)


@room("effect, by what it claims", "tool == 'bill.pay' && risk == 'low'")
def _claim(rooms: Rooms) -> Refused:
    return inside(rooms, gated, gated.paid, asks=True)


@room("activity", "tool == 'send_mail'")
def _activity(rooms: Rooms) -> Refused:
    return inside(rooms, disguised, disguised.sent)


@room("node", "node == 'send'")
def _node(rooms: Rooms) -> Refused:
    result = inside(rooms, named_nodes, named_nodes.worked)
    result.done = [one for one in result.done if one not in ("draft", "check")]
    return result


@room("an agent elsewhere, before a reported node", "node == 'pay'")
def _reported(rooms: Rooms) -> Refused:
    agent = rooms.agent
    agent.start(nodes=["look", "pay"])
    agent.take()
    made = agent.commit(1, nodes=["look"], next_nodes=["pay"], delta={})
    assert made["thread"]["status"] == "failed"
    row = queries.thread(UUID(agent.thread), workspace=rooms.workspace)
    return Refused(row.id, row.status_reason, _activities(row.id))


def _begun(rooms: Rooms, kind: str, node: str = "work") -> Refused:
    agent = rooms.agent
    agent.start(tools={"charge": {"idempotent": True}}, nodes=["work", "pay"])
    agent.take()
    begun = agent.begin("charge#0", kind=kind, node=node, args=ARGS)
    assert (begun["do"], begun["thread"]["status"]) == ("refused", "running")
    assert begun["what_next"] == "go_on"
    return Refused(UUID(agent.thread), begun["reason"], _activities(UUID(agent.thread)))


for _kind in ("effect", "activity", "model"):
    ROOMS[f"an agent elsewhere, {_kind}"] = ("tool == 'charge'", partial(_begun, kind=_kind))
ROOMS["an agent elsewhere, a call at a node"] = (
    "node == 'pay' && cost >= 0.0",
    lambda rooms: _begun(rooms, "activity", node="pay"),
)


@room("an agent elsewhere, asked for beforehand", "tool == 'charge'")
def _asked_beforehand(rooms: Rooms) -> Refused:
    """The call by which framework adapters ask about several tool calls at once."""
    agent = rooms.agent
    agent.start(tools={"charge": {}})
    agent.take()
    effect = {"tool": "charge", "args": ARGS, "gate": {"title": "Charge?"}}
    one = {"node": "work", "key": "charge#0", "effect": effect}
    answer = agent.post("approvals/", {"ask": [one]})
    (reply,) = answer["answers"]
    assert (answer["do"], reply["state"]) == ("answer", "rejected")
    return Refused(UUID(agent.thread), reply["comment"], _activities(UUID(agent.thread)))


@room("an agent elsewhere, an interrupt", "tool == 'charge'")
def _interrupt(rooms: Rooms) -> Refused:
    agent = rooms.agent
    agent.start(tools={"charge": {}})
    agent.take()
    config = {"allow_accept": True, "allow_ignore": True}
    interrupt = {"action_request": {"action": "charge", "args": ARGS}, "config": config}
    one = {"node": "work", "key": "i#0", "interrupt": interrupt}
    answer = agent.post("approvals/", {"ask": [one]})
    assert answer["do"] == "answer", answer
    (reply,) = answer["answers"]
    assert reply["answer"]["type"] == "ignore"
    return Refused(UUID(agent.thread), reply["answer"]["comment"], [])


@room("a call through the MCP gateway", "tool == 'add'")
def _gateway(rooms: Rooms) -> Refused:
    ended = rooms.gateway.call()
    assert isinstance(ended, Ended), ended
    assert ended.thread is not None
    assert ended.result is None
    assert ended.reason.startswith("Rejected by the policy: No payments")
    return Refused(ended.thread, ended.reason, _activities(ended.thread))


def _activities(thread: UUID) -> list[Any]:
    return [a for a in queries.activities(thread) if a.kind != "value"]


@pytest.fixture
def rooms(world: World, gateway: Gateway) -> Rooms:
    users, scopes = world.cast.users, ["start", "work", "control"]
    token = tokens.make(users["operator"], made_by="test", scopes=scopes)[1]
    return Rooms(world, Agent(driver(token), driver(token)), gateway)


@pytest.mark.slow
@pytest.mark.requirement("E02")
@pytest.mark.parametrize("name", ROOMS)
def test_what_a_policy_blocks_is_refused_and_nobody_is_asked(rooms: Rooms, name: str) -> None:
    condition, enter = ROOMS[name]
    # An agent elsewhere claims its nodes: of those no policy allows any.
    if "node" not in condition or name == "node":
        rooms.policy("node != ''" if name == "node" else "true", "Let all", action="allow")
    made = rooms.policy(condition)
    refused = enter(rooms)
    assert refused.done == []
    assert f"The policy “No payments” blocks it: {NOTE}." in refused.reason
    # No person was asked, and the record says which version refused.
    (row,) = requests.for_thread(refused.thread)
    assert (row.status, row.outcome, row.policy_version) == ("settled", "reject", made.label)
    assert (row.decided_by, row.decided_by_name) == (
        f"policy:{made.label}",
        "the policy: No payments",
    )
    assert row.blocked
    news = rows("SELECT kind FROM gp_outbox WHERE approval_id = %s", (row.id,))
    assert news == [("approval.decided",)]
    events = queries.events_after(refused.thread, 0, limit=500)
    (event,) = [e for e in events if e.kind == EventKind.APPROVAL_DECIDED]
    assert event.actor == f"policy:{made.label}"
    assert (event.data["verdict"], event.data["blocked"]) == ("reject", True)
    (request,) = [e for e in events if e.kind == EventKind.APPROVAL_REQUESTED]
    assert request.data["asks"] is False
    kinds = {e.kind for e in events}
    assert not kinds & {EventKind.THREAD_SUSPENDED, EventKind.EFFECT_STARTED}
    assert verify(refused.thread).intact
    page = rooms.world.cast.client("admin").get(f"/threads/{refused.thread}/").content.decode()
    assert "Blocked" in page
    assert "Approval requested" not in page
    assert f'href="/admin/policies/{made.policy}/"' in page


# A condition on a node reads what is always there, so it always has an answer.
@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in ROOMS if "node" not in ROOMS[name][0]])
def test_a_block_that_has_no_answer_asks_a_person(rooms: Rooms, name: str) -> None:
    condition, enter = ROOMS[name]
    allowed = rooms.policy("true", "Let all", action="allow")
    made = rooms.policy(f"{condition} && args.missing > 3")
    with pytest.raises(AssertionError) as stopped:  # each room waits in its own way
        enter(rooms)
    assert "wait" in str(stopped.value).lower() or "Held" in str(stopped.value)
    (row,) = [
        row
        for row in rows("SELECT status, policy_version, terms ->> 'rule' FROM gp_approval")
        if row[1] in (made.label, allowed.label)
    ]
    assert row[:2] == ("pending", made.label)
    assert "there is no missing" in row[2]


def test_a_gateway_lets_no_blocked_call_out_that_was_approved_before(
    rooms: Rooms,
) -> None:
    gateway = rooms.gateway
    thread = gateway.held()
    gateway.approve(thread)
    rooms.policy("tool == 'add'")
    ended = gateway.call()
    assert not isinstance(ended, Dispatch | Held), ended
    assert "blocks it" in str(getattr(ended, "reason", ""))
