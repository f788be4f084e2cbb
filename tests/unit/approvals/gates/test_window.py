"""Time: decisions that can be taken back, deadlines and what comes after them, policies."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

from approvals import gates, queries
from approvals.errors import AlreadyDecided, NothingToTakeBack
from approvals.gates import Reviewer
from approvals.rules.terms import Seat, Terms
from approvals.verification.proof import verify
from checkpoints import queries as threads
from checkpoints import store
from checkpoints.errors import LeaseLost, NotFound
from checkpoints.states import EventKind, Status
from tests.unit.approvals.cast import (
    BOSS,
    LENA,
    MIRA,
    NEW,
    OMAR,
    back,
    let_pass,
    news,
    now,
    open_request,
    say,
    two,
)
from tests.unit.checkpoints.builders import (
    OPERATOR,
    drive,
    kinds_of,
    make_thread,
    one,
    rows,
    status_of,
)

from .test_gates import gate

pytestmark = pytest.mark.django_db
TEN = Terms(undo_window=10)


def last_event(row: Any) -> Any:
    return threads.events(row.thread).rows[0]


# --- the window --------------------------------------------------------------------------------


def test_a_decision_is_held_for_its_window_and_wakes_nobody_before() -> None:
    row = open_request(TEN)
    held = say(row, MIRA, comment="fine")
    assert held == now(row)
    assert (held.status, held.outcome, held.open) == ("held", "approve", False)
    assert held.effective_at is not None
    assert held.decided_at is not None
    assert (held.effective_at - held.decided_at).total_seconds() == 10
    assert status_of(row.thread) is Status.WAITING
    assert gates.settle_due() == 0
    assert news("approval.decided") == 0
    with pytest.raises(AlreadyDecided, match="Mira already decided"):
        say(row, OMAR)

    let_pass(row)
    assert verify(row.thread).intact is False  # somebody turned the clock
    rows(
        "UPDATE gp_approval SET effective_at = %s, decide_by = NULL WHERE id = %s::uuid",
        [held.effective_at, row.id],
    )


def settled_later(row: Any) -> Any:
    """Settle it as if its time had come; the proof then sees the true time again."""
    at = now(row).effective_at
    rows("UPDATE gp_approval SET effective_at = clock_timestamp() WHERE id = %s::uuid", [row.id])
    n = gates.settle_due()
    rows("UPDATE gp_approval SET effective_at = %s WHERE id = %s::uuid", [at, row.id])
    assert n == 1
    return now(row)


def test_after_the_window_it_settles_once_and_the_thread_goes_on() -> None:
    row = open_request(TEN)
    say(row, MIRA)
    done = settled_later(row)
    assert (done.status, done.outcome, done.decided_by) == ("settled", "approve", "user:2")
    assert kinds_of(row.thread)[-2:] == ["approval.decided", "approval.settled"]
    assert status_of(row.thread) is Status.QUEUED
    assert gates.settle_due() == 0
    assert news("approval.decided") == 1
    assert verify(row.thread).intact


def test_only_who_decided_takes_it_back_and_only_in_time() -> None:
    row = open_request(TEN)
    with pytest.raises(NothingToTakeBack, match="still open"):
        back(row, MIRA)
    say(row, MIRA)
    with pytest.raises(NothingToTakeBack, match="Only Mira"):
        back(row, OMAR)
    with pytest.raises(NotFound):
        gates.take_back(row.id, workspace=uuid4(), reviewer=MIRA)
    open_again = back(row, Reviewer("user:2/token:abcdefgh", "Mira (token ci)"))
    assert open_again == now(row) == row
    assert last_event(row).kind == "decision.taken_back"
    assert [v.verdict for v in queries.votes(row.id)] == ["approve", "take_back"]
    assert not any(v.counts for v in queries.votes(row.id))
    say(row, OMAR)
    settled_later(row)
    with pytest.raises(NothingToTakeBack, match="Too late"):
        back(row, OMAR)
    assert now(row).decided_by == "user:3"
    assert verify(row.thread).intact


def test_an_edit_that_is_taken_back_leaves_what_stood_before() -> None:
    row = open_request(two(undo_window=10))
    say(row, LENA, "edit", args=NEW)
    other = {"report": "Tides", "price": "1.00"}
    say(row, MIRA, "edit", args=other)
    assert say(row, OMAR).status == "held"
    again = back(row, OMAR)
    assert again == now(row)
    assert (again.shown_args, again.status) == (other, "pending")
    assert [v.person for v in queries.votes(row.id) if v.counts] == ["user:2"]

    row = open_request(Terms(undo_window=10))
    held = say(row, MIRA, "edit", args=NEW)
    assert (held.status, held.outcome) == ("held", "edit")
    assert back(row, MIRA) == now(row) == row
    assert verify(row.thread).intact
    say(row, OMAR)
    assert settled_later(row).outcome == "approve"
    assert verify(row.thread).intact


@pytest.mark.parametrize(("risk", "status"), [("low", "settled"), ("high", "held")])
def test_without_a_policy_the_risk_says_how_long(settings: Any, risk: str, status: str) -> None:
    settings.GATEPOST_UNDO_WINDOWS = [0.0, 0.0, 10.0]
    assert say(open_request(risk=risk), MIRA).status == status


def test_a_held_rejection_ends_the_thread_only_once_it_counts() -> None:
    row = open_request(TEN)
    say(row, MIRA, "reject", comment="enough", what_next="stop")
    assert status_of(row.thread) is Status.WAITING
    settled_later(row)
    assert status_of(row.thread) is Status.CANCELLED
    assert last_event(row).actor == "user:2"
    assert verify(row.thread).intact


def test_what_is_held_is_withdrawn_with_its_thread() -> None:
    row = open_request(TEN)
    say(row, MIRA)
    assert [a.id for a in queries.unsettled(row.thread)] == [row.id]
    assert gates.withdraw_open(row.thread, reason="The state was edited", actor=OPERATOR) == 1
    gone = now(row)
    assert (gone.status, gone.outcome, gone.decided_by) == ("withdrawn", "", "")
    assert gates.settle_due() == 0
    assert news("approval.withdrawn") == 1
    with pytest.raises(AlreadyDecided, match="withdrawn"):
        back(row, MIRA)
    assert verify(row.thread).intact


# --- deadlines ---------------------------------------------------------------------------------


def due(row: Any) -> int:
    """Let the sweep come after the deadline; how many it dealt with."""
    at = one("SELECT decide_by FROM gp_approval WHERE id = %s::uuid", [row.id])
    rows("UPDATE gp_approval SET decide_by = clock_timestamp() WHERE id = %s::uuid", [row.id])
    n = gates.expire_due()
    if now(row).escalated_at is None:
        rows("UPDATE gp_approval SET decide_by = %s WHERE id = %s::uuid", [at, row.id])
    return n


def test_an_expired_request_tells_others_and_wakes_its_thread() -> None:
    row = open_request(Terms(), expires_in=3600.0)
    assert due(row) == 1
    assert now(row).status == "expired"
    assert status_of(row.thread) is Status.QUEUED
    assert (news("approval.expired"), news("approval.decided")) == (1, 0)
    assert verify(row.thread).intact


def test_a_policy_can_reject_what_nobody_decided() -> None:
    row = open_request(Terms(on_expiry="reject", rule="Payments over 100"), expires_in=3600.0)
    assert due(row) == 1
    done = now(row)
    assert (done.status, done.outcome, done.decided_by) == ("settled", "reject", "policy:p@1")
    assert done.comment == "Nobody decided before the deadline."
    assert done.decided_by_name == "the policy: Payments over 100"
    [vote] = queries.votes(row.id)
    assert (vote.reviewer, vote.verdict) == ("policy:p@1", "reject")
    assert status_of(row.thread) is Status.QUEUED
    assert (news("approval.expired"), news("approval.decided")) == (0, 1)
    assert verify(row.thread).intact


def test_a_policy_can_call_in_others_once() -> None:
    terms = Terms(
        stages=(Seat(people=("mira",)),),
        on_expiry="escalate",
        escalate_to=Seat(people=("boss",)),
        escalate_for=3600,
    )
    row = open_request(terms, expires_in=3600.0)
    assert due(row) == 1
    called = now(row)
    assert called.open
    assert called.escalated_at is not None
    assert called.decide_by is not None
    assert (called.decide_by - called.escalated_at).total_seconds() == 3600
    assert called.deadline == row.deadline  # as it was asked for, and sealed
    assert status_of(row.thread) is Status.WAITING
    event = last_event(row)
    assert (event.kind, event.data["to"]) == ("approval.escalated", "boss")
    assert news("approval.escalated") == 1
    assert verify(row.thread).intact
    assert say(row, BOSS).outcome == "approve"
    assert verify(row.thread).intact


def test_the_second_time_it_expires() -> None:
    terms = Terms(on_expiry="escalate", escalate_to=Seat(people=("boss",)), escalate_for=3600)
    row = open_request(terms, expires_in=3600.0)
    due(row)
    at = now(row).decide_by
    assert due(row) == 1
    rows("UPDATE gp_approval SET decide_by = %s WHERE id = %s::uuid", [at, row.id])
    assert now(row).status == "expired"
    assert verify(row.thread).intact


def test_who_comes_at_the_deadline_of_a_policy_that_calls_in_others_still_decides() -> None:
    terms = Terms(on_expiry="escalate", escalate_to=Seat(people=("boss",)), escalate_for=3600)
    row = open_request(terms, expires_in=3600.0)
    rows("UPDATE gp_approval SET decide_by = clock_timestamp() WHERE id = %s::uuid", [row.id])
    assert say(row, MIRA).outcome == "approve"
    assert news("approval.escalated") == 1


# --- what a policy lets happen -----------------------------------------------------------------


def allowed(work: Any) -> Any:
    return gate(work, terms=Terms(rule="Small sums"), policy_version="p@2", allowed_by="Small sums")


def test_what_a_policy_allows_is_on_record_and_waits_for_nobody() -> None:
    work = drive(make_thread(), 1).work
    row = gates.decide_by_policy(work, allowed(work))
    assert row == queries.approval(row.id, workspace=row.workspace)
    assert (row.status, row.outcome, row.decided_by) == ("settled", "approve", "policy:p@2")
    assert row.decided_by_name == "the policy: Small sums"
    assert kinds_of(work.thread)[-2:] == ["approval.requested", "approval.decided"]
    assert status_of(work.thread) is Status.RUNNING
    assert [v.reviewer for v in queries.votes(row.id)] == ["policy:p@2"]
    assert verify(work.thread).intact
    # The lease goes on: the next write of the same worker is taken.
    store.record(work, [store.NewEvent(EventKind.THOUGHT_RECORDED, {"text": "on"}, "w")])


def test_asking_for_what_is_allowed_does_not_wait() -> None:
    work = drive(make_thread(), 1).work
    assert not gates.request(work, [allowed(work)])
    assert status_of(work.thread) is Status.RUNNING
    assert gates.request(work, [gate(work, "publish#1")], waiting_on={})
    assert status_of(work.thread) is Status.WAITING
    assert sorted(a.status for a in queries.for_thread(work.thread)) == ["pending", "settled"]
    assert verify(work.thread).intact


def test_a_lost_lease_lets_no_policy_decide() -> None:
    work = drive(make_thread(), 1).work
    store.cancel(work.thread, actor=OPERATOR)
    with pytest.raises(LeaseLost):
        gates.decide_by_policy(work, allowed(work))
    assert queries.for_thread(work.thread) == []
