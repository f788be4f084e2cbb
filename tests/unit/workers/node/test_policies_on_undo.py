"""A policy asks about what cannot be undone, and knows it of the tool, not of the agent's word."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

from approvals.policies import changes as policies
from approvals.policies.affected_requests import undone
from approvals.policies.drafts import Draft
from approvals.policies.matches import Facts, rule_for
from approvals.policies.preview import against_the_past
from checkpoints.errors import InvalidValue
from checkpoints.states import Status
from tests.unit.workers.conftest import Bench, bench_of
from tests.unit.workers.graphs.effects import undo_samples

pytestmark = pytest.mark.django_db


@pytest.fixture
def bench(db: None) -> Bench:
    undo_samples.forget()
    return bench_of(undo_samples)


def policy(bench: Bench, condition: str, **more: Any) -> Any:
    return policies.make(bench.workspace, Draft("Undo", condition, **more), actor="user:9")


@pytest.mark.requirement("E02")
def test_it_asks_before_what_cannot_be_undone_and_no_other_call(bench: Bench) -> None:
    policy(bench, "undo == 'none'")
    thread = bench.start(plan=["flight", "letter"])
    assert bench.advance(thread).status is Status.WAITING
    assert bench.open(thread).tool == "write"
    assert undo_samples.calls == ["book flight"]
    (request,) = undone(bench.workspace)
    assert rule_for(request.facts) is not None
    tried = against_the_past(bench.workspace, "undo == 'tool'")
    assert [one.tool for one in tried.matched] == ["book"]
    tried = against_the_past(bench.workspace, "undo == 'none'")
    assert [one.tool for one in tried.matched] == ["write"]


def test_what_can_be_undone_may_be_let_happen(bench: Bench) -> None:
    policy(bench, "undo == 'tool'", action="allow")
    thread = bench.start(plan=["ask", "letter"])
    assert bench.advance(thread).status is Status.SUCCEEDED
    assert undo_samples.calls == ["book ask", "write letter"]


@pytest.mark.parametrize(
    ("more", "holds"),
    [
        ({"undo": "give_back"}, ""),
        ({}, "ask"),
        ({"node": "pay"}, ""),
        ({"operation": "fork"}, ""),
    ],
)
def test_only_effects_have_an_undo(bench: Bench, more: dict[str, str], holds: str) -> None:
    policy(bench, "undo == 'none'")
    facts: Any = {"workspace": bench.workspace, "thread": uuid4(), "agent": "a", "tool": "t"}
    rule = rule_for(Facts(**facts, args={}, **more))
    assert ("" if rule is None else rule.action) == holds


def test_an_agent_elsewhere_announces_its_undo_itself_so_it_allows_nothing(bench: Bench) -> None:
    policy(bench, "undo == 'tool'", action="allow")
    facts: Any = {"workspace": bench.workspace, "thread": uuid4(), "agent": "a", "tool": "t"}
    rule = rule_for(Facts(**facts, args={}, undo="take_back", elsewhere=True))
    assert rule is not None
    assert rule.action == "ask"
    assert "announces its undo itself" in rule.terms.rule


def test_a_node_has_no_undo(bench: Bench) -> None:
    with pytest.raises(InvalidValue, match="names a node and 'undo'"):
        policy(bench, "node == 'pay' && undo == 'none'")
