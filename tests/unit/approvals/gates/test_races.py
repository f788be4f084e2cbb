"""Races of votes, edits and the end of the window, counted, on real connections."""

from __future__ import annotations

import time

import pytest

from approvals import gates, queries
from approvals.errors import AlreadyDecided, NothingToTakeBack, ProposalChanged
from approvals.gates.undo_window import settle_held
from approvals.queries import ApprovalRow
from approvals.rules.terms import Terms
from approvals.verification.proof import verify
from checkpoints.states import Status
from tests.unit.approvals.cast import LENA, MIRA, NEW, OMAR, back, news, now, open_request, say, two
from tests.unit.checkpoints.builders import kinds_of, one, rows, status_of
from tests.unit.checkpoints.racing import race


@pytest.mark.slow
@pytest.mark.hazard
def test_two_last_voters_are_counted_both_and_settle_once(real_db: str) -> None:
    rounds = 60
    results = [open_request(two()) for _ in range(rounds)]
    answers = race(
        rounds,
        lambda n: say(results[n], MIRA, proposal_hash=results[n].proposal_hash),
        lambda n: say(results[n], OMAR, proposal_hash=results[n].proposal_hash),
    )
    settled_by = [0, 0]
    for row, pair in zip(results, answers, strict=True):
        assert not any(isinstance(a, Exception) for a in pair), pair
        assert sorted(a.status for a in pair) == ["pending", "settled"]
        settled_by[0 if pair[0].status == "settled" else 1] += 1
        assert now(row).status == "settled"
        assert kinds_of(row.thread).count("approval.decided") == 1
        assert kinds_of(row.thread).count("decision.recorded") == 1
    assert sum(settled_by) == rounds
    assert min(settled_by) > 0, settled_by


@pytest.mark.slow
@pytest.mark.hazard
def test_an_edit_against_an_approval_of_the_old_arguments(real_db: str) -> None:
    rounds = 60
    results = [open_request(two()) for _ in range(rounds)]
    for row in results:
        say(row, LENA)

    def approve(n: int) -> ApprovalRow:
        # An edit is held against the schema first: now before that and now after it.
        time.sleep((n % 20) * 0.0005)
        return say(results[n], OMAR, proposal_hash=results[n].proposal_hash)

    answers = race(
        rounds,
        lambda n: say(results[n], MIRA, "edit", args=NEW, proposal_hash=results[n].proposal_hash),
        approve,
    )
    edited = approved = 0
    for row, (edit, approval) in zip(results, answers, strict=True):
        stored = now(row)
        if isinstance(approval, ProposalChanged):
            # Nobody ever agreed to both: Lena's vote went with the old arguments.
            assert (stored.status, stored.standing_args) == ("pending", NEW)
            assert [v.counts for v in queries.votes(row.id)] == [False, True]
            edited += 1
        else:
            assert isinstance(edit, AlreadyDecided), edit
            assert (stored.status, stored.outcome, stored.standing_args) == (
                "settled", "approve", None,
            )  # fmt: skip
            approved += 1
    assert edited + approved == rounds
    assert min(edited, approved) > 0, (edited, approved)


@pytest.mark.slow
@pytest.mark.hazard
def test_taking_back_against_the_end_of_the_window(real_db: str) -> None:
    rounds = 60
    results = [open_request(Terms(undo_window=3600)) for _ in range(rounds)]
    for row in results:
        say(row, MIRA)

    def settle(n: int) -> bool:
        # Its time comes about when it is taken back, now before and now after.
        time.sleep((n % 20) * 0.0005)
        rows(
            "UPDATE gp_approval SET effective_at = clock_timestamp() WHERE id = %s::uuid "
            "AND status = 'held'",
            [results[n].id],
        )
        return settle_held(results[n].id, thread=results[n].thread, workspace=results[n].workspace)

    answers = race(rounds, lambda n: back(results[n], MIRA), settle)
    taken = settled = 0
    for row, (took, count) in zip(results, answers, strict=True):
        stored = now(row)
        if isinstance(took, ApprovalRow):
            assert (count, stored.status, stored.outcome) == (0, "pending", "")
            assert status_of(row.thread) is Status.WAITING
            assert "approval.settled" not in kinds_of(row.thread)
            taken += 1
        else:
            assert isinstance(took, NothingToTakeBack), took
            settle_held(row.id, thread=row.thread, workspace=row.workspace)
            assert (now(row).status, now(row).outcome) == ("settled", "approve")
            assert kinds_of(row.thread).count("approval.settled") == 1
            assert status_of(row.thread) is Status.QUEUED
            settled += 1
    assert taken + settled == rounds
    assert min(taken, settled) > 0, (taken, settled)
    assert news("approval.decided") == settled


@pytest.mark.slow
@pytest.mark.hazard
def test_several_sweeps_settle_and_expire_each_request_once(real_db: str) -> None:
    rounds = 40
    held = [open_request(Terms(undo_window=60)) for _ in range(rounds)]
    late = [open_request(Terms(on_expiry="reject"), expires_in=3600.0) for _ in range(rounds)]
    for row in held:
        say(row, MIRA)
    rows("UPDATE gp_approval SET effective_at = clock_timestamp() WHERE status = 'held'")
    rows(
        "UPDATE gp_approval SET decide_by = clock_timestamp() WHERE id = ANY(%s::uuid[])",
        [[row.id for row in late]],
    )
    sweeps = race(3, *([lambda _: (gates.settle_due(), gates.expire_due())] * 4))
    assert [sum(s[n] for one_time in sweeps for s in one_time) for n in (0, 1)] == [rounds, rounds]
    assert {now(row).status for row in held + late} == {"settled"}
    assert {now(row).outcome for row in late} == {"reject"}
    for row in held:
        assert kinds_of(row.thread).count("approval.settled") == 1
    assert news("approval.decided") == 2 * rounds
    assert one("SELECT count(*) FROM gp_decision") == 2 * rounds


@pytest.mark.slow
@pytest.mark.hazard
def test_a_decision_against_a_cancelling_rejection_ends_once(real_db: str) -> None:
    rounds = 40
    results = [open_request() for _ in range(rounds)]
    answers = race(
        rounds,
        lambda n: say(results[n], MIRA, proposal_hash=results[n].proposal_hash),
        lambda n: say(
            results[n], OMAR, "reject", comment="no", what_next="stop",
            proposal_hash=results[n].proposal_hash,
        ),
    )  # fmt: skip
    ended = 0
    for row, (approved, stopped) in zip(results, answers, strict=True):
        if isinstance(stopped, AlreadyDecided):
            assert status_of(row.thread) is Status.QUEUED
            assert now(row).outcome == approved.outcome == "approve"
        else:
            assert isinstance(approved, AlreadyDecided), approved
            assert status_of(row.thread) is Status.CANCELLED
            ended += 1
    assert 0 < ended < rounds
    assert verify(results[0].thread).intact
