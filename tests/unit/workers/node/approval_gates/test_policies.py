"""Policies open gates that no author wrote, on their terms; what they allow is on record."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

from approvals.policies.matches import Rule
from approvals.rules.terms import Seat, Terms
from checkpoints.states import EventKind, Status
from tests.unit.workers.graphs.effects import gated
from tests.unit.workers.graphs.effects.gated import AnyBench, asking, requests, rules, told_in
from workers.testing.harness import Harness

HERE = sys.modules[gated.__name__]


@pytest.fixture
def bench(make_bench: Callable[[Any], AnyBench]) -> AnyBench:
    gated.paid.clear()
    gated.failures[0] = 0
    return make_bench(gated)


def test_a_policy_asks_though_the_author_asked_nobody(
    bench: AnyBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    terms = {"stages": (Seat(count=2),)}
    rule = asking(title="Money leaves", risk="high", expires_in=3600, terms=terms)
    facts = rules(bench, monkeypatch, lambda f: rule if f.args["amount"] > "05" else None)
    thread = bench.start(asks=False)
    assert bench.advance(thread).status is Status.WAITING
    (row,) = requests(bench, thread)
    assert (row.title, row.risk, row.policy_version) == ("Money leaves", "high", gated.VERSION)
    assert row.description == "All payments are looked at."
    assert row.terms["stages"] == [{"people": [], "teams": [], "count": 2}]
    assert row.deadline is not None
    assert 3590 < (row.deadline - row.requested_at).total_seconds() <= 3600.5
    (fact,) = facts
    assert (fact.tool, fact.args, fact.agent) == ("bill.pay", row.args, "bills")
    assert (fact.thread, fact.started_by, fact.risk) == (thread, "user:1", "")
    gated.decided(bench, thread, row)
    assert bench.advance(thread).status is Status.SUCCEEDED
    assert len(gated.paid) == 1
    assert len(facts) == 1, "what was decided is not put to the policies again"
    (effect,) = [a for a in bench.activities(thread) if a.kind == "effect"]
    assert effect.approval == row.id


def test_what_no_policy_asks_about_happens_at_once(
    bench: AnyBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts = rules(bench, monkeypatch, lambda _: None)
    thread = bench.start(asks=False)
    assert bench.advance(thread).status is Status.SUCCEEDED
    assert (len(facts), len(gated.paid), requests(bench, thread)) == (1, 1, [])


def test_a_policy_sets_the_terms_of_a_gate_that_the_author_wrote(
    bench: AnyBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules(bench, monkeypatch, lambda f: asking(expires_in=60) if f.risk == "low" else None)
    thread = bench.start(expires=600)
    bench.advance(thread)
    (row,) = requests(bench, thread)
    assert (row.title, row.description) == ("Pay the bill?", "It is due.")
    assert (row.risk, row.policy_version) == ("low", gated.VERSION)
    assert row.terms["rule"] == "All payments are looked at."
    assert row.deadline is not None
    assert (row.deadline - row.requested_at).total_seconds() < 61, "the sooner of both"


def test_a_policy_that_changed_changes_the_next_request(
    bench: AnyBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    now: list[Rule | None] = [asking()]
    rules(bench, monkeypatch, lambda _: now[0])
    thread, other = bench.start(asks=False), bench.start(asks=False)
    assert bench.advance(thread).status is Status.WAITING
    now[0] = None
    assert bench.advance(other).status is Status.SUCCEEDED
    (row,) = requests(bench, thread)
    gated.decided(bench, thread, row)
    assert bench.advance(thread).status is Status.SUCCEEDED, "one that waits keeps its version"
    assert requests(bench, thread)[0].policy_version == gated.VERSION


def test_four_eyes_keep_out_whose_hands_it_went_through(
    bench: AnyBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules(bench, monkeypatch, lambda _: asking(terms={"four_eyes": True}))
    thread = bench.start(asks=False)
    bench.advance(thread)
    assert requests(bench, thread)[-1].terms["barred"] == ["user:1"]
    fork = bench.fork(thread, 0, {"amount": "11.00"})
    bench.advance(fork)
    assert requests(bench, fork)[-1].terms["barred"] == ["user:1", "user:2"]


def test_what_a_policy_allows_happens_and_is_its_own_decision() -> None:
    """Also where the author wrote a gate; both is on record, and nobody waits."""
    gated.paid.clear()
    rule = Rule("allow", gated.VERSION, "small sums", Terms(rule="Under 20."))
    harness = Harness(gated.graph, policy=lambda f: rule if f.args["amount"] < "20" else None)
    for asks in (True, False):
        thread = harness.play({"asks": asks})
        assert thread.status == "succeeded"
        (row,) = thread.approvals
        assert (row.status, row.outcome, row.policy_version) == (
            "settled",
            "approve",
            gated.VERSION,
        )
        assert (row.decided_by, row.decided_by_name) == (
            f"policy:{gated.VERSION}",
            "the policy: small sums",
        )
        assert thread.effects[0].approval == row.id
        assert "thread.suspended" not in thread.kinds
        assert thread.verify()
    assert len(gated.paid) == 2
    assert harness.play({"amount": "30.00"}).status == "waiting"


def test_a_policy_cannot_allow_what_a_fork_asks_about(
    bench: AnyBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    thread = bench.start(asks=False)
    assert bench.advance(thread).status is Status.SUCCEEDED
    rule = Rule("allow", gated.VERSION, "all", Terms())
    rules(bench, monkeypatch, lambda _: rule)
    fork = bench.fork(thread, 0, {}, effects="ask")
    assert bench.advance(fork).status is Status.WAITING
    assert [a.policy_version for a in requests(bench, fork)] == ["author"]
    assert len(gated.paid) == 1


def test_an_effect_without_any_gate_costs_no_request(
    bench: AnyBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules(bench, monkeypatch, lambda _: None)
    thread = bench.start(asks=False)
    bench.advance(thread)
    assert told_in(bench, thread, EventKind.APPROVAL_REQUESTED) == []
