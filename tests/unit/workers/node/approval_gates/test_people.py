"""People and engine on the real store: what they decide is what happens, and it is proved."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group

from approvals import gates
from approvals.errors import FourEyes, VerdictRefused
from approvals.policies.matches import Rule
from approvals.queries import ApprovalRow
from approvals.rules.terms import Seat, Terms
from approvals.verification.proof import verify
from checkpoints import store
from checkpoints.errors import InvalidValue
from checkpoints.states import EventKind, Status
from tests.support.reviewers import reviewer_in
from tests.unit.checkpoints.builders import rows as query
from tests.unit.workers.conftest import Bench, bench_of
from tests.unit.workers.graphs import inboxed
from tests.unit.workers.graphs.effects import gated
from tests.unit.workers.graphs.effects.gated import asking, requests, rules, told_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def bench(db: None) -> Bench:
    gated.paid.clear()
    gated.failures[0] = 0
    return bench_of(gated)


def waiting(bench: Bench, **input: Any) -> tuple[UUID, ApprovalRow]:
    thread = bench.start(**input)
    assert bench.advance(thread).status is Status.WAITING
    return thread, requests(bench, thread)[-1]


def say(bench: Bench, row: ApprovalRow, verdict: str, number: int = 2, **more: Any) -> ApprovalRow:
    """One of the people decides what stands now."""
    (now,) = [a for a in bench.approvals(row.thread) if a.id == row.id]
    return gates.decide(
        row.id,
        workspace=bench.workspace,
        reviewer=reviewer_in(bench.workspace, number, f"person {number}"),
        verdict=verdict,
        proposal_hash=now.standing_hash,
        **more,
    )


def paid() -> list[tuple[str, str]]:
    return [(to, amount) for to, amount, _ in gated.paid]


def test_an_edit(bench: Bench) -> None:
    thread, row = waiting(bench)
    with pytest.raises(InvalidValue, match="args"):
        say(bench, row, "edit", args={"to": "Ada"})
    say(bench, row, "edit", args={"to": "Ada", "amount": "7.50"}, comment="less")
    assert bench.advance(thread).status is Status.SUCCEEDED
    assert paid() == [("Ada", "7.50")]
    assert bench.state(thread)["outcome"] == "paid 7.50 to Ada; 7.50; less"
    assert verify(thread).intact


def test_an_edit_that_others_approve(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    rules(bench, monkeypatch, lambda _: asking(terms={"stages": (Seat(count=3),)}))
    thread, row = waiting(bench, asks=False)
    say(bench, row, "approve", 2)
    say(bench, row, "edit", 3, args={"to": "Ada", "amount": "9.00"})
    say(bench, row, "approve", 4)
    assert bench.row(thread).status is Status.WAITING, "the first approval was for other arguments"
    done = say(bench, row, "approve", 5)
    assert (done.outcome, done.decided_args) == ("edit", {"to": "Ada", "amount": "9.00"})
    store.withdraw(bench.workspace, 2, "reviewer", actor="user:0")
    assert bench.advance(thread).status is Status.SUCCEEDED, "a void vote may lose its right"
    assert paid() == [("Ada", "9.00")]
    assert verify(thread).intact


@pytest.mark.parametrize("lost", [3, 4])
def test_each_of_several_has_to_have_the_right_still(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, lost: int
) -> None:
    rules(bench, monkeypatch, lambda _: asking(terms={"stages": (Seat(), Seat())}))
    thread, row = waiting(bench, asks=False)
    say(bench, row, "approve", 3)
    say(bench, row, "approve", 4)
    store.withdraw(bench.workspace, lost, "reviewer", actor="user:0")
    assert bench.advance(thread).status is Status.WAITING
    assert paid() == []
    again = requests(bench, thread)[-1]
    assert f"person {lost} approved it and may no longer decide here." in again.description
    assert again.terms == row.terms
    assert verify(thread).intact


@pytest.mark.parametrize("leaves", ["the team", "nothing"])
def test_whoever_left_the_team_that_has_to_decide_has_decided_nothing(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, leaves: str
) -> None:
    seat = Seat(people=("nobody",), teams=("finance",))
    rules(bench, monkeypatch, lambda _: asking(terms={"stages": (seat,)}))
    thread, row = waiting(bench)
    reviewer = reviewer_in(bench.workspace)
    user = get_user_model().objects.get(pk=2)
    team = Group.objects.create(name="finance")
    user.groups.add(team)
    gates.decide(
        row.id,
        workspace=bench.workspace,
        reviewer=replace(reviewer, user=user.get_username(), teams=("finance",)),
        verdict="approve",
        proposal_hash=row.standing_hash,
    )
    if leaves == "the team":
        user.groups.remove(team)
    expected = Status.WAITING if leaves == "the team" else Status.SUCCEEDED
    assert bench.advance(thread).status is expected
    assert len(paid()) == (leaves == "nothing")


def test_what_is_asked_back_is_answered_and_the_gate_stays(bench: Bench) -> None:
    thread, row = waiting(bench)
    request = say(bench, row, "respond", comment="Why now?")
    assert request.status == "pending"
    assert bench.row(thread).status is Status.QUEUED, "the agent is woken for the answer"
    assert bench.advance(thread).status is Status.WAITING
    (reply,) = told_in(bench, thread, EventKind.APPROVAL_REPLIED)
    assert reply["text"] == "Why now? Because of 10.00."
    say(bench, row, "approve")
    assert bench.advance(thread).status is Status.SUCCEEDED
    assert paid() == [("Ada", "10.00")]
    assert verify(thread).intact


def test_a_decision_counts_once_it_cannot_be_taken_back(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules(bench, monkeypatch, lambda _: asking(terms={"undo_window": 60}))
    thread, row = waiting(bench)
    assert say(bench, row, "approve").status == "held"
    assert bench.row(thread).status is Status.WAITING
    gates.take_back(row.id, workspace=bench.workspace, reviewer=reviewer_in(bench.workspace))
    say(bench, row, "reject", comment="on second thought")
    gated.age(row.id, 61)
    assert gates.settle_due() == 1
    assert bench.advance(thread).status is Status.SUCCEEDED
    assert bench.state(thread)["outcome"].endswith("said no: on second thought (go_on)")
    assert paid() == []


def test_what_former_code_decided_is_carried_out_before_the_sweep_counts_it(bench: Bench) -> None:
    thread, row = waiting(bench)
    say(bench, row, "approve")
    query("UPDATE gp_approval SET tally = NULL WHERE id = %s", [row.id])
    assert bench.advance(thread).status is Status.SUCCEEDED
    assert len(paid()) == 1
    assert [r.id for r in requests(bench, thread)] == [row.id], "nobody is asked a second time"


def test_the_undo_window_of_an_authors_gate_is_that_of_its_risk(
    bench: Bench, settings: Any
) -> None:
    settings.GATEPOST_UNDO_WINDOWS = [5.0, 0.0, 10.0]
    thread, row = waiting(bench)
    assert (row.risk, row.terms["undo_window"], row.policy_version) == ("low", 5.0, "author")
    assert say(bench, row, "approve").status == "held"
    gated.age(row.id, 6)
    gates.settle_due()
    assert bench.advance(thread).status is Status.SUCCEEDED
    assert len(paid()) == 1


def test_what_a_policy_allows_happens_at_once_and_is_on_record(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    rule = Rule("allow", gated.VERSION, "small sums", Terms(rule="Under 20."))
    rules(bench, monkeypatch, lambda _: rule)
    thread = bench.start()
    assert bench.advance(thread).status is Status.SUCCEEDED
    (row,) = requests(bench, thread)
    assert (row.status, row.outcome, row.decided_by) == (
        "settled",
        "approve",
        f"policy:{gated.VERSION}",
    )
    (effect,) = [a for a in bench.activities(thread) if a.kind == "effect"]
    assert effect.approval == row.id
    assert EventKind.THREAD_SUSPENDED not in bench.kinds(thread)
    assert verify(thread).intact


def test_whose_hands_it_went_through_cannot_decide(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules(bench, monkeypatch, lambda _: asking(terms={"four_eyes": True}))
    thread, row = waiting(bench)
    assert row.terms["barred"] == ["user:1"]
    with pytest.raises(FourEyes):
        say(bench, row, "approve", 1)
    say(bench, row, "approve", 2)
    assert bench.advance(thread).status is Status.SUCCEEDED


def test_a_policy_whose_requests_are_reopened_is_asked_anew(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    now: list[Rule | None] = [asking()]
    rules(bench, monkeypatch, lambda _: now[0])
    thread, _ = waiting(bench, asks=False)
    now[0] = None
    gates.withdraw_open(thread, reason="The policy changed.", actor="user:9")
    store.wake(thread, event=store.NewEvent(EventKind.THOUGHT_RECORDED, {"text": ""}, "user:9"))
    assert bench.advance(thread).status is Status.SUCCEEDED
    assert len(paid()) == 1
    assert [a.status for a in requests(bench, thread)] == ["withdrawn"]


def test_an_interrupt_takes_the_verdicts_of_its_config(db: None) -> None:
    bench = bench_of(inboxed)
    thread, row = waiting(bench, requests=[inboxed.asking(allow_accept=True, allow_respond=True)])
    with pytest.raises(VerdictRefused):
        say(bench, row, "edit", args={"to": "eve", "copies": 1})
    say(bench, row, "respond", comment="Shorter, please.")
    assert bench.advance(thread).status is Status.SUCCEEDED
    assert bench.state(thread)["answers"] == [{"type": "response", "args": "Shorter, please."}]
    assert verify(thread).intact

    thread, row = waiting(bench, requests=[inboxed.asking()])
    with pytest.raises(InvalidValue, match="copies"):
        say(bench, row, "edit", args={"to": "bea", "copies": "two"})
    say(bench, row, "edit", args={"to": "bea", "copies": 2})
    assert bench.advance(thread).status is Status.SUCCEEDED
    (answer,) = bench.state(thread)["answers"]
    assert (answer["type"], answer["args"]["args"]) == ("edit", {"to": "bea", "copies": 2})
    assert verify(thread).intact

    thread, row = waiting(bench, requests=[inboxed.asking(allow_respond=True)])
    say(bench, row, "respond", args="Fine so.")
    assert bench.advance(thread).status is Status.SUCCEEDED
    assert verify(thread).intact
