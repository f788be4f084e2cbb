"""A policy that names a node stops the thread before it, on what people then see and no other."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from approvals.policies import changes as policies
from approvals.policies.drafts import Draft
from approvals.rules.terms import Seat, Terms
from approvals.verification.proof import verify
from checkpoints.states import Status
from tests.unit.workers.conftest import Bench, bench_of
from tests.unit.workers.graphs.effects import named_nodes
from tests.unit.workers.graphs.effects.named_nodes import worked

pytestmark = pytest.mark.django_db
ADMIN = "user:9"


@pytest.fixture
def bench(db: None) -> Bench:
    worked.clear()
    return bench_of(named_nodes)


def demand(bench: Bench, condition: str, name: str = "Look first", **more: Any) -> Any:
    return policies.make(bench.workspace, Draft(name, condition, **more), actor=ADMIN)


def stopped(bench: Bench, condition: str = "node == 'send'") -> UUID:
    """A thread that waits before `send`; its sibling was worked."""
    demand(bench, condition)
    thread = bench.start()
    assert bench.advance(thread).status is Status.WAITING
    return thread


@pytest.mark.requirement("E02")
def test_the_thread_waits_before_the_node_and_its_siblings_work(bench: Bench) -> None:
    thread = stopped(bench)
    row = bench.open(thread)
    assert worked == ["draft", "check"]
    assert (row.kind, row.tool, row.node, row.title) == (
        *("gate", "", "send"),
        "Continue with the node send",
    )
    assert row.args == {"node": "send", "state": bench.checkpoint(thread, 1).state_hash}
    assert "The policy “Look first” asks for it." in row.description
    bench.decide(thread, "approve")
    assert bench.advance(thread).status is Status.SUCCEEDED
    assert worked == ["draft", "check", "send", "published tea"]
    assert len(bench.approvals(thread)) == 1
    assert verify(thread).intact


def test_the_first_node_can_be_named_and_labels_and_agents_be_told_apart(bench: Bench) -> None:
    demand(bench, "node == 'draft' && agent == 'named-nodes' && cost < 1")
    demand(bench, "node == 'send' && agent == 'another'", "Others")
    thread = bench.start()
    assert bench.advance(thread).status is Status.WAITING
    assert worked == []
    bench.decide(thread, "approve")
    assert bench.advance(thread).status is Status.SUCCEEDED


def test_a_policy_about_effects_says_nothing_of_nodes_and_the_other_way_round(bench: Bench) -> None:
    demand(bench, "tool == 'publish'")
    thread = bench.start()
    assert bench.advance(thread).status is Status.WAITING
    assert sorted(worked) == ["check", "draft", "send"]  # two of them at once
    assert bench.open(thread).tool == "publish"


def test_one_that_allows_a_node_comes_before_one_that_asks(bench: Bench) -> None:
    demand(bench, "node == 'draft'", "Drafts", action="allow")
    demand(bench, "node != 'check'", "All")
    thread = bench.start()
    assert bench.advance(thread).status is Status.WAITING
    assert bench.open(thread).node == "send"


def test_a_refusal_fails_the_thread_and_the_node_is_not_worked(bench: Bench) -> None:
    thread = stopped(bench)
    bench.decide(thread, "reject", "not today")
    row = bench.advance(thread)
    assert (row.status, "not today" in row.status_reason) == (Status.FAILED, True)
    bench.retry(thread)
    assert bench.advance(thread).status is Status.FAILED
    assert "send" not in worked


def test_nothing_but_yes_and_no_can_be_said(bench: Bench) -> None:
    thread = stopped(bench)
    for verdict in ("edit", "respond"):
        with pytest.raises(Exception, match=r".") as error:
            bench.decide(thread, verdict, "x", {"node": "other"})
        assert type(error.value).__module__.endswith("errors")


def test_an_edit_of_the_state_after_the_decision_asks_again(bench: Bench) -> None:
    thread = stopped(bench)
    bench.decide(thread, "approve")
    bench.pause(thread)
    bench.edit(thread, {"goal": "coffee"}, "changed my mind")
    bench.resume(thread)
    assert bench.advance(thread).status is Status.WAITING
    assert "send" not in worked
    bench.decide(thread, "approve")
    assert bench.advance(thread).status is Status.SUCCEEDED
    assert worked[-1] == "published coffee"


def test_a_policy_that_became_stricter_since_asks_again(bench: Bench) -> None:
    thread = stopped(bench)
    bench.decide(thread, "approve")
    (row,) = bench.approvals(thread)
    policy = UUID(row.policy_version.partition("@")[0])
    two = Draft("Look first", "node == 'send'", terms=Terms(stages=(Seat(count=2),)))
    policies.change(policy, two, workspace=bench.workspace, seen=1, actor=ADMIN)
    assert bench.advance(thread).status is Status.WAITING
    assert "other or more people have to approve it now" in bench.open(thread).description
    assert "send" not in worked


def test_a_fork_and_a_step_back_ask_on_their_own(bench: Bench) -> None:
    thread = stopped(bench)
    bench.decide(thread, "approve")
    fork = bench.fork(thread, 1, {})
    assert bench.advance(fork).status is Status.WAITING
    assert bench.open(fork).node == "send"
    assert bench.advance(thread).status is Status.SUCCEEDED
    bench.roll_back(thread, 1)
    bench.resume(thread)
    assert bench.advance(thread).status is Status.WAITING
    assert bench.open(thread).node == "send"


def test_an_agent_can_read_what_would_hold_its_call(bench: Bench) -> None:
    thread = bench.start()
    assert bench.advance(thread).status is Status.SUCCEEDED
    assert bench.state(thread)["would"] == ["", "The agent itself asks for it."]
    demand(bench, "tool == 'publish'", note="it leaves the house")
    other = bench.start()
    assert bench.advance(other).status is Status.WAITING
    bench.decide(other, "approve")
    assert bench.advance(other).status is Status.SUCCEEDED
    (first, again) = bench.state(other)["would"]
    assert first == again == "The policy “Look first” asks for it: it leaves the house."
    assert len(bench.approvals(other)) == 1
