"""A policy on a tool holds each call of it, also what its author records as an activity."""

from __future__ import annotations

from typing import Any

import pytest

from approvals.policies import changes as policies
from approvals.policies.drafts import Draft
from approvals.rules.terms import Seat, Terms
from checkpoints.states import Status
from tests.unit.workers.conftest import Bench, bench_of
from tests.unit.workers.graphs.effects import disguised
from tests.unit.workers.graphs.effects.disguised import failures, sent

pytestmark = pytest.mark.django_db
ADMIN = "user:9"
ON_MAIL = "tool == 'send_mail'"


@pytest.fixture
def bench(db: None) -> Bench:
    sent.clear()
    failures[0] = 0
    return bench_of(disguised)


def demand(bench: Bench, condition: str = ON_MAIL, name: str = "Mail", **more: Any) -> Any:
    return policies.make(bench.workspace, Draft(name, condition, **more), actor=ADMIN)


@pytest.mark.requirement("E02")
def test_an_activity_waits_before_it_is_called_and_is_called_once(bench: Bench) -> None:
    demand(bench)
    thread = bench.start()
    assert bench.advance(thread).status is Status.WAITING
    row = bench.open(thread)
    assert (row.tool, row.args) == ("send_mail", {"to": "ada@example.org", "text": "hello"})
    assert set(row.schema["properties"]) == {"to", "text"}
    assert sent == []
    bench.decide(thread, "approve")
    assert bench.advance(thread).status is Status.SUCCEEDED
    assert sent == [("ada@example.org", "hello")]
    (mail,) = [a for a in bench.activities(thread) if a.tool == "send_mail"]
    assert (mail.kind, mail.state, mail.approval) == ("effect", "done", row.id)
    assert bench.state(thread)["outcome"] == "sent to ada@example.org"
    assert bench.intact(thread)


@pytest.mark.requirement("E02")
def test_the_arguments_that_a_reviewer_edits_are_called(bench: Bench) -> None:
    demand(bench)
    thread = bench.start()
    bench.advance(thread)
    bench.decide(thread, "edit", args={"to": "ben@example.org", "text": "hello"})
    assert bench.advance(thread).status is Status.SUCCEEDED
    assert sent == [("ben@example.org", "hello")]


@pytest.mark.requirement("E02")
def test_a_refusal_reaches_the_node_as_that_of_an_effect_does(bench: Bench) -> None:
    demand(bench)
    thread = bench.start()
    bench.advance(thread)
    bench.decide(thread, "reject", "not to her")
    assert bench.advance(thread).status is Status.SUCCEEDED
    assert (sent, bench.state(thread)["outcome"]) == ([], "no: not to her")


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("tool.startsWith('send')", True),
        ("tool != 'look_up'", True),
        ("tool == 'send_mail' && args.to == 'ada@example.org'", True),
        ("tool == 'send_mail' && args.missing > 3", True),  # no answer: people are asked
        ("tool == 'send_mail' && args.to == 'ben@example.org'", False),
        ("agent == 'disguised'", False),  # about effects; nobody declared such a tool
        ("args.to == 'ada@example.org'", False),
        ("node == 'other'", False),
    ],
)
def test_policies_that_read_the_tool_are_about_every_call(
    bench: Bench, condition: str, holds: bool
) -> None:
    demand(bench, condition)
    thread = bench.start()
    status = bench.advance(thread).status
    assert status is (Status.WAITING if holds else Status.SUCCEEDED)
    assert sent == ([] if holds else [("ada@example.org", "hello")])


def test_one_that_allows_comes_before_one_that_asks(bench: Bench) -> None:
    demand(bench, "tool == 'send_mail' && args.to.endsWith('@example.org')", action="allow")
    demand(bench, name="All")
    thread = bench.start()
    assert bench.advance(thread).status is Status.SUCCEEDED
    other = bench.start(to="ada@example.net")
    assert bench.advance(other).status is Status.WAITING


def test_what_does_not_name_its_arguments_is_held_as_well(bench: Bench) -> None:
    demand(bench, "tool == 'send_all'")
    thread = bench.start(places=True)
    assert bench.advance(thread).status is Status.WAITING
    assert bench.open(thread).args == {"args": ["ada@example.org", "hello"]}
    bench.decide(thread, "approve")
    assert bench.advance(thread).status is Status.SUCCEEDED
    assert sent == [("ada@example.org", "hello")]


@pytest.mark.slow
def test_one_that_failed_is_tried_again_under_its_approval(bench: Bench) -> None:
    demand(bench)
    failures[0] = 1
    thread = bench.start()
    bench.advance(thread)
    bench.decide(thread, "approve")
    assert bench.advance(thread).status is Status.SLEEPING
    bench.pass_time(3)
    bench.wake_sleepers()
    assert bench.advance(thread).status is Status.SUCCEEDED
    assert len(sent) == len(bench.approvals(thread)) == 1
    assert bench.intact(thread)


@pytest.mark.requirement("C32")
@pytest.mark.parametrize("verdict", ["approve", "reject"])
def test_no_call_starts_before_its_own_gate_is_decided(bench: Bench, verdict: str) -> None:
    """Another gate of the same node was decided, and nothing of the second call has begun."""
    demand(bench, "tool in ['look_up', 'send_mail']")
    thread = bench.start()
    bench.advance(thread)
    first = bench.open(thread)
    bench.decide(thread, "approve")
    assert bench.advance(thread).status is Status.WAITING
    second = bench.open(thread)
    assert (first.tool, second.tool) == ("look_up", "send_mail")
    assert [a.tool for a in bench.activities(thread)] == ["look_up"]
    assert sent == []
    bench.decide(thread, verdict, "as you like")
    assert bench.advance(thread).status is Status.SUCCEEDED
    assert len(sent) == (verdict == "approve")


@pytest.mark.requirement("C32")
def test_a_decision_is_compared_with_the_policies_at_the_moment_of_the_call(bench: Bench) -> None:
    made = demand(bench)
    thread = bench.start()
    bench.advance(thread)
    bench.decide(thread, "approve")
    two = Draft("Mail", ON_MAIL, risk="high", terms=Terms(stages=(Seat(count=2),)))
    policies.change(made.policy, two, workspace=bench.workspace, seen=1, actor=ADMIN)
    assert bench.advance(thread).status is Status.WAITING
    assert "Asked again" in bench.open(thread).description
    assert sent == []


@pytest.mark.slow
def test_what_is_on_record_already_is_asked_about_no_more(bench: Bench) -> None:
    failures[0] = 1
    thread = bench.start()
    assert bench.advance(thread).status is Status.SLEEPING  # the address was read
    demand(bench, "tool == 'look_up'")
    bench.pass_time(3)
    bench.wake_sleepers()
    assert bench.advance(thread).status is Status.SUCCEEDED
    assert sent == [("ada@example.org", "hello")]
