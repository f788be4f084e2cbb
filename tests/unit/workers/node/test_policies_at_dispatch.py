"""Just before an approved effect starts the policies are asked again, as they are now."""

from __future__ import annotations

import random
from typing import Any
from uuid import UUID

import pytest

from approvals import gates
from approvals.policies import changes as policies
from approvals.policies import queries as queries_policies
from approvals.policies.drafts import Draft
from approvals.policies.matches import Facts, rule_for
from approvals.policies.strictness import Demand, given_under, stricter
from approvals.queries import ApprovalRow
from approvals.rules.terms import Seat, Terms
from approvals.verification.proof import verify
from checkpoints.states import Status
from tests.support.reviewers import reviewer_in
from tests.unit.workers.conftest import Bench, bench_of
from tests.unit.workers.graphs.effects import gated
from tests.unit.workers.graphs.effects.gated import requests
from workers.step.ledger import DatabaseLedger

pytestmark = pytest.mark.django_db
ADMIN = "user:9"
TWO = Terms(stages=(Seat(count=2),))


@pytest.fixture
def bench(db: None) -> Bench:
    gated.paid.clear()
    gated.failures[0] = 0
    return bench_of(gated)


def make(bench: Bench, condition: str = "true", name: str = "Two", **more: Any) -> Any:
    return policies.make(bench.workspace, Draft(name, condition, **more), actor=ADMIN)


def say(bench: Bench, row: ApprovalRow, verdict: str = "approve", number: int = 2, **more: Any):
    (now,) = [a for a in bench.approvals(row.thread) if a.id == row.id]
    return gates.decide(
        row.id,
        workspace=bench.workspace,
        reviewer=reviewer_in(bench.workspace, number, f"person {number}"),
        verdict=verdict,
        proposal_hash=now.standing_hash,
        **more,
    )


def approved(bench: Bench, **input: Any) -> tuple[UUID, ApprovalRow]:
    """A thread whose payment is approved and has not happened yet."""
    thread = bench.start(**input)
    assert bench.advance(thread).status is Status.WAITING
    row = requests(bench, thread)[-1]
    return thread, say(bench, row)


def asked_again(bench: Bench, thread: UUID) -> ApprovalRow:
    assert bench.advance(thread).status is Status.WAITING
    assert gated.paid == []
    return bench.open(thread)


def two_approve(bench: Bench, thread: UUID, row: ApprovalRow) -> None:
    say(bench, row, number=2)
    say(bench, row, number=3)
    assert bench.advance(thread).status is Status.SUCCEEDED
    assert len(gated.paid) == 1
    assert verify(thread).intact


def test_a_stricter_policy_reopens_what_was_settled(bench: Bench) -> None:
    thread, old = approved(bench)
    assert old.status == "settled"
    made = make(bench, terms=TWO)
    row = asked_again(bench, thread)
    assert (row.revision, row.policy_version) == (old.revision + 1, made.label)
    assert "other or more people have to approve it now" in row.description
    two_approve(bench, thread, row)


def test_a_stricter_policy_reopens_what_is_held(bench: Bench) -> None:
    made = make(bench, terms=Terms(undo_window=0.2))
    thread, old = approved(bench, asks=False)
    assert old.status == "held"
    draft = Draft("Two", "true", terms=TWO)
    policies.change(made.policy, draft, workspace=bench.workspace, seen=1, actor=ADMIN)
    bench.pass_time(0.3)
    assert gates.settle_due() == 1
    two_approve(bench, thread, asked_again(bench, thread))


def test_an_effect_that_needed_nobody_when_it_was_proposed(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The policy is made after the engine had looked, right before the effect starts."""
    begin, made = DatabaseLedger.begin_effect, []

    def late(self: DatabaseLedger, *args: Any) -> str:
        if not made:
            made.append(make(bench, terms=TWO))
        return begin(self, *args)

    monkeypatch.setattr(DatabaseLedger, "begin_effect", late)
    thread = bench.start(asks=False)
    row = asked_again(bench, thread)
    assert row.revision == 0
    two_approve(bench, thread, row)


def test_a_failed_effect_that_needed_nobody_is_tried_again_under_the_policies_of_now(
    bench: Bench,
) -> None:
    gated.failures[0] = 1
    thread = bench.start(asks=False)
    assert bench.advance(thread).status is Status.FAILED
    make(bench, terms=TWO)
    bench.retry(thread)
    two_approve(bench, thread, asked_again(bench, thread))


def test_a_failed_effect_that_was_approved_is_asked_anew(bench: Bench) -> None:
    gated.failures[0] = 1
    thread, _ = approved(bench)
    assert bench.advance(thread).status is Status.FAILED
    make(bench, terms=TWO)
    bench.retry(thread)
    two_approve(bench, thread, asked_again(bench, thread))


def test_what_a_policy_allowed_is_asked_of_people_once_it_allows_no_more(bench: Bench) -> None:
    made = make(bench, action="allow")
    gated.failures[0] = 1
    thread = bench.start()
    while bench.advance(thread).status is Status.QUEUED:
        pass
    assert bench.row(thread).status is Status.FAILED
    policies.switch(made.policy, False, workspace=bench.workspace, actor=ADMIN)
    bench.retry(thread)
    row = asked_again(bench, thread)
    assert row.policy_version == "author"
    say(bench, row)
    assert bench.advance(thread).status is Status.SUCCEEDED


@pytest.mark.parametrize("unlike", ["allow", "off", "same"])
def test_a_looser_policy_changes_nothing(bench: Bench, unlike: str) -> None:
    made = make(bench, terms=TWO)
    thread = bench.start()
    bench.advance(thread)
    row = bench.open(thread)
    say(bench, row, number=2)
    say(bench, row, number=3)
    if unlike == "off":
        policies.switch(made.policy, False, workspace=bench.workspace, actor=ADMIN)
    else:
        action: Any = "allow" if unlike == "allow" else "ask"
        draft = Draft("Two", "true", action=action, note="other words")
        policies.change(made.policy, draft, workspace=bench.workspace, seen=1, actor=ADMIN)
    assert bench.advance(thread).status is Status.SUCCEEDED
    assert len(gated.paid) == 1


def test_where_no_policy_changed_nothing_is_asked_of_the_database(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(bench)
    thread, _ = approved(bench)

    def never(*_: Any) -> Any:
        raise AssertionError("the policies were read again")

    monkeypatch.setattr(DatabaseLedger, "rule", never)
    monkeypatch.setattr(queries_policies, "mark", never)
    assert bench.advance(thread).status is Status.SUCCEEDED


def test_what_reviewers_made_of_it_is_what_the_policies_are_asked_of(bench: Bench) -> None:
    """An edit to a larger amount needs whom the larger amount needs."""
    make(bench, "amount(args.amount) >= 1000", terms=TWO)
    thread = bench.start()
    bench.advance(thread)
    row = bench.open(thread)
    more = {"to": "Ada", "amount": "5000.00"}
    say(bench, row, "edit", args=more)
    again = asked_again(bench, thread)
    assert again.args == row.args
    assert "more people" in again.description
    say(bench, again, "edit", args=more, number=2)
    say(bench, again, number=3)
    assert bench.advance(thread).status is Status.SUCCEEDED
    assert [(to, amount) for to, amount, _ in gated.paid] == [("Ada", "5000.00")]


@pytest.mark.slow
def test_no_effect_runs_under_weaker_terms_than_those_of_now(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Random policies one after the other: whatever happens meets what is demanded then."""
    chance, ran, reopened = random.Random(16), 0, 0
    begin = DatabaseLedger.begin_effect
    under: list[ApprovalRow | None] = []

    def watched(self: DatabaseLedger, work: Any, activity: Any, events: Any, *more: Any) -> str:
        why = begin(self, work, activity, events, *more)
        if not why:
            under.append(more[0] if more else None)
        return why

    monkeypatch.setattr(DatabaseLedger, "begin_effect", watched)
    made = make(bench, terms=TWO)
    for _ in range(25):
        asks = chance.random() < 0.5
        _random(bench, made.policy, chance)
        thread = bench.start(asks=asks)
        bench.advance(thread)
        if bench.row(thread).status is not Status.SUCCEEDED:
            _decide(bench, thread)
            _random(bench, made.policy, chance)
        for _ in range(3):
            if bench.row(thread).status is Status.QUEUED:
                bench.advance(thread)
        now = demanded(bench, thread, asks=asks)
        if bench.row(thread).status is Status.SUCCEEDED:
            ran += 1
            assert not stricter(now, given_under(under[-1]))
        else:
            reopened += 1
            assert bench.open(thread).description.startswith("Asked again: ")
        assert bench.intact(thread)
    assert ran > 5
    assert reopened > 3


def _random(bench: Bench, policy: UUID, chance: random.Random) -> None:
    now = queries_policies.policy(policy, workspace=bench.workspace)
    terms = Terms(
        stages=tuple(Seat(count=chance.randint(1, 2)) for _ in range(chance.randint(1, 2))),
        valid_for=chance.choice([600.0, 6000.0]),
    )
    action: Any = chance.choice(["ask", "ask", "ask", "allow"])
    risk = chance.choice(["", "low", "medium", "high"])
    draft = Draft("Two", "true", action=action, terms=terms, risk=risk)
    policies.change(policy, draft, workspace=bench.workspace, seen=now.number, actor=ADMIN)
    policies.switch(policy, chance.random() < 0.8, workspace=bench.workspace, actor=ADMIN)


def _decide(bench: Bench, thread: UUID) -> None:
    row = bench.open(thread)
    for number in range(2, 12):
        if not say(bench, row, number=number).open:
            return


def demanded(bench: Bench, thread: UUID, *, asks: bool) -> Demand:
    """What the policies demand of the payment now, worked out beside the engine."""
    row = bench.row(thread)
    risk = "low" if asks else ""
    args = {"to": "Ada", "amount": "10.00"}
    ids = {"workspace": bench.workspace, "thread": thread, "agent": row.agent}
    rule = rule_for(Facts(**ids, tool="bill.pay", args=args, risk=risk))
    if rule is not None and rule.action == "ask":
        return Demand(True, rule.risk or risk or "medium", rule.terms)
    return Demand(True, risk, Terms()) if asks and rule is None else Demand()
