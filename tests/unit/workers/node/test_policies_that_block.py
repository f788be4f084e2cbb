"""Policies that block: which one decides, what its author's code hears, and decisions before it."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from django.db import connection

from approvals import gates
from approvals.gates import reopened_requests
from approvals.policies import changes as policies
from approvals.policies import node_policies
from approvals.policies.affected_requests import changed, touched
from approvals.policies.coverage import HeldTool, Holding
from approvals.policies.drafts import Draft
from approvals.policies.matches import Facts, Rule, first_match, rule_for
from approvals.policies.preview import against_the_past
from approvals.policies.queries import active
from approvals.policies.queries import policies as all_policies
from approvals.queries import ApprovalRow
from approvals.rules.terms import Terms
from approvals.verification.proof import verify
from checkpoints.states import EventKind, Status
from tests.support.reviewers import reviewer_in
from tests.unit.workers.conftest import Bench, bench_of
from tests.unit.workers.graphs.effects import gated
from tests.unit.workers.graphs.effects.gated import AnyBench, requests, rules, told_in
from workers.step.ledger import DatabaseLedger
from workers.testing.harness import Harness

pytestmark = pytest.mark.django_db
ADMIN = "user:9"
WHY = "The policy “Never” blocks it: not today."
HEARD = f"the policy: Never said no: {WHY} (go_on)"


@pytest.fixture
def bench(db: None) -> Bench:
    gated.paid.clear()
    gated.failures[0] = 0
    node_policies.forget()
    return bench_of(gated)


def make(bench: Bench, condition: str = "true", name: str = "Never", **more: Any) -> Any:
    draft = Draft(name, condition, **{"action": "block", "note": "not today", **more})
    return policies.make(bench.workspace, draft, actor=ADMIN)


def decide(bench: Bench, row: ApprovalRow, verdict: str = "approve", **more: Any) -> ApprovalRow:
    return gates.decide(
        row.id,
        workspace=bench.workspace,
        reviewer=reviewer_in(bench.workspace, 2, "two"),
        verdict=verdict,
        proposal_hash=row.standing_hash,
        **more,
    )


def waiting(bench: Bench, **input: Any) -> tuple[UUID, ApprovalRow]:
    """A thread whose payment waits for people, behind its author's gate."""
    thread = bench.start(**input)
    assert bench.advance(thread).status is Status.WAITING
    return thread, bench.open(thread)


def refused(bench: Bench, thread: UUID, made: Any) -> ApprovalRow:
    """The thread went on without its payment, and the record says which version refused it."""
    while (row := bench.row(thread)).status is Status.QUEUED:
        bench.advance(thread)
    assert row.status is Status.SUCCEEDED, row
    assert (gated.paid, bench.state(thread)["outcome"]) == ([], HEARD)
    last = requests(bench, thread)[-1]
    assert (last.status, last.outcome, last.policy_version) == ("settled", "reject", made.label)
    assert last.blocked
    assert told_in(bench, thread, EventKind.EFFECT_STARTED) == []
    assert verify(thread).intact
    return last


# ---- which policy decides ------------------------------------------------------------------------


@pytest.mark.requirement("E02")
def test_whatever_the_order_block_comes_before_allow_and_no_answer_before_allow(
    bench: Bench,
) -> None:
    """Five hundred random lists of policies, decided a second way: by what each says alone."""
    chance = random.Random(22)
    for name, condition in {
        "pays": "tool == 'pay'",
        "other": "tool == 'other'",
        "unanswered": "args.missing > 3",
        "look-alike": "tool == 'p\u0430y'",  # with a Cyrillic letter
        "known": "agent == 'payments'",
    }.items():
        for action in ("ask", "allow", "block"):
            make(bench, condition, f"{name} {action}", action=action)
    rows = active(bench.workspace)
    ids: Any = {"workspace": bench.workspace, "thread": UUID(int=1), "agent": "payments"}
    facts = Facts(**ids, tool="pay", args={"total": "1"})
    decided = {"block": 0, "ask": 0, "allow": 0, "": 0}
    for _ in range(500):
        some = chance.sample(rows, chance.randint(0, 6))
        rule = first_match(some, facts)
        alone = [one for row in some if (one := first_match([row], facts)) is not None]
        actions = [one.action for one in alone]
        if "block" in actions:
            expected: Any = "block"
        else:
            # A block that can't tell asks, whatever allows before it.
            unsure = any(one.action == "ask" and "block" in one.name for one in alone)
            first = actions[0] if actions else ""
            expected = "ask" if unsure else first
        assert (rule.action if rule else "") == expected, [row.name for row in some]
        decided[expected] += 1
    assert min(decided.values()) > 20, decided


@pytest.mark.parametrize(
    ("condition", "problem"),
    [
        ("args.missing > 3", "there is no missing"),
        ("tool == 'p\u0430y'", "looks like"),
        ("amount(args.total) > 1", "an amount is a number"),
    ],
)
def test_a_block_that_can_not_tell_asks_people_and_says_so(
    bench: Bench, condition: str, problem: str
) -> None:
    make(bench, "true", "All", action="allow")
    make(bench, condition)
    ids: Any = {"workspace": bench.workspace, "thread": UUID(int=1), "agent": "payments"}
    rule = rule_for(Facts(**ids, tool="pay", args={"total": "1e3"}))
    assert rule is not None
    assert rule.action == "ask"
    assert "so it asks: not today" in rule.terms.rule
    assert problem in rule.terms.rule


def test_one_whose_condition_an_upgrade_refuses_asks_about_every_action(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    from approvals.policies import matches

    make(bench, "tool == 'other'")
    monkeypatch.setattr(matches, "refusal", lambda text: "it is no longer taken")
    thread, row = waiting(bench, asks=False)
    assert "it is no longer taken" in row.terms["rule"]
    decide(bench, row)
    assert bench.advance(thread).status is Status.SUCCEEDED
    assert len(gated.paid) == 1


# ---- what the author's code hears ----------------------------------------------------------------


@pytest.mark.parametrize("asks", [True, False])
def test_the_code_of_the_author_hears_a_rejection(
    make_bench: Callable[[Any], AnyBench], monkeypatch: pytest.MonkeyPatch, asks: bool
) -> None:
    """On the real store and on memory alike."""
    gated.paid.clear()
    bench = make_bench(gated)
    rule = Rule("block", gated.VERSION, "Never", Terms(rule=WHY))
    rules(bench, monkeypatch, lambda _: rule)
    thread = bench.start(asks=asks)
    while (row := bench.advance(thread)).status is Status.QUEUED:
        pass
    assert (row.status, bench.state(thread)["outcome"]) == (Status.SUCCEEDED, HEARD)
    assert gated.paid == []
    (request,) = requests(bench, thread)
    assert (request.status, request.outcome, request.comment) == ("settled", "reject", WHY)
    assert request.decided_by == f"policy:{gated.VERSION}"
    (decided,) = told_in(bench, thread, EventKind.APPROVAL_DECIDED)
    assert (decided["verdict"], decided["comment"], decided["blocked"]) == ("reject", WHY, True)
    assert told_in(bench, thread, EventKind.THREAD_SUSPENDED) == []
    assert bench.intact(thread)


def test_a_play_hears_the_same() -> None:
    gated.paid.clear()
    rule = Rule("block", gated.VERSION, "Never", Terms(rule=WHY))
    thread = Harness(gated.graph, policy=lambda f: rule).play({"asks": False})
    assert (thread.status, thread.state["outcome"]) == ("succeeded", HEARD)
    assert thread.verify()
    assert gated.paid == []


def test_it_stays_refused_where_the_policy_is_gone_when_the_node_works_again(bench: Bench) -> None:
    """As a person's rejection does: the node may have gone another way since."""
    made = make(bench)
    thread = bench.start(asks=False)
    refused(bench, thread, made)
    policies.switch(made.policy, False, workspace=bench.workspace, actor=ADMIN)
    (row,) = requests(bench, thread)
    assert row.blocked


# ---- decisions before it -------------------------------------------------------------------------


@pytest.mark.requirement("E02")
@pytest.mark.parametrize("verdict", ["approve", "edit"])
def test_what_was_approved_before_does_not_happen(bench: Bench, verdict: str) -> None:
    thread, row = waiting(bench)
    args = {"to": "Ada", "amount": "11.00"}
    decide(bench, row, verdict, **({"args": args} if verdict == "edit" else {}))
    last = refused(bench, thread, make(bench))
    assert last.revision == row.revision + 1
    assert last.description.startswith("Asked again: a policy blocks")


def test_what_waits_is_refused_when_it_is_approved_or_reopened(bench: Bench) -> None:
    first, row = waiting(bench)
    reopened, other = waiting(bench)
    rows = all_policies(bench.workspace)
    draft = Draft("Never", "true", action="block", note="not today")
    assert touched(bench.workspace, changed(rows, draft=draft)).open == 2
    made = make(bench)
    assert bench.open(first).id == row.id
    decide(bench, row)
    refused(bench, first, made)
    reopened_requests.withdraw_of_policy(
        made.policy, made.label, workspace=bench.workspace, reason="changed", actor=ADMIN
    )
    refused(bench, reopened, made)
    assert [a.status for a in requests(bench, reopened)] == ["withdrawn", "settled"]
    assert other.id == requests(bench, reopened)[0].id


def test_what_a_policy_allowed_before_is_refused_once_one_blocks(bench: Bench) -> None:
    make(bench, name="All", action="allow")
    gated.failures[0] = 1
    thread = bench.start()
    while bench.advance(thread).status is Status.QUEUED:
        pass
    made = make(bench)
    bench.retry(thread)
    while (row := bench.advance(thread)).status is Status.QUEUED:
        pass
    assert (row.status, gated.paid) == (Status.SUCCEEDED, [])
    assert requests(bench, thread)[-1].policy_version == made.label


def test_one_that_comes_between_the_look_and_the_start_blocks(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin = DatabaseLedger.begin_effect
    made: list[Any] = []

    def late(self: DatabaseLedger, *args: Any) -> str:
        if not made:
            made.append(make(bench))
        return begin(self, *args)

    monkeypatch.setattr(DatabaseLedger, "begin_effect", late)
    thread = bench.start(asks=False)
    bench.advance(thread)
    refused(bench, thread, made[0])


@pytest.mark.requirement("E02")
def test_it_looks_at_cost_and_labels_as_they_are_when_the_effect_starts(bench: Bench) -> None:
    """No policy changed since people were asked; the thread did."""
    made = make(bench, "has(labels.frozen)")
    thread, row = waiting(bench)
    decide(bench, row)
    with connection.cursor() as cursor:
        cursor.execute(
            'UPDATE gp_thread SET labels = \'{"frozen": "yes"}\' WHERE id = %s', (thread,)
        )
    while (now := bench.advance(thread)).status is Status.QUEUED:
        pass
    assert (now.status, gated.paid, bench.state(thread)["outcome"]) == (
        Status.SUCCEEDED,
        [],
        HEARD,
    )
    assert requests(bench, thread)[-1].policy_version == made.label


def test_what_a_reviewer_makes_of_it_is_blocked(bench: Bench) -> None:
    made = make(bench, "amount(args.amount) >= 1000")
    thread, row = waiting(bench)
    decide(bench, row, "edit", args={"to": "Ada", "amount": "5000.00"})
    last = refused(bench, thread, made)
    assert "a policy blocks what reviewers made of it" in last.description


# ---- beforehand ----------------------------------------------------------------------------------


def test_past_actions_that_it_would_have_blocked_and_asked_about_are_told_apart(
    bench: Bench,
) -> None:
    from dashboard.administration.policy_form import would_have

    gated.paid.clear()
    for amount in ("10.00", "20.00", "1e3"):
        bench.advance(bench.start(asks=False, amount=amount))
    tried = against_the_past(bench.workspace, "amount(args.amount) > 15", action="block")
    assert would_have(tried, "block") == "Would have blocked 1 of 3, and asked people about 1"
    tried = against_the_past(bench.workspace, "amount(args.amount) > 15", action="allow")
    assert would_have(tried, "allow") == "Would have matched 1 of 3"
    tried = against_the_past(bench.workspace, "tool == 'other'", action="block")
    assert would_have(tried, "block") == "Would have blocked none of 3"


def test_what_holds_a_tool_says_what_blocks_it() -> None:
    held = HeldTool("pay", "", (Holding(UUID(int=1), "Never", "always", blocks=True),), "")
    assert held.words == "Never (blocks, always)"
