"""What was decided is looked at again where it is carried out; if it differs, nothing happens."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from django.db import connection

from approvals.gates import validity
from approvals.queries import ApprovalRow
from checkpoints import store
from checkpoints.states import EventKind, Status
from tests.unit.workers.conftest import Bench, bench_of
from tests.unit.workers.graphs.effects import gated
from tests.unit.workers.graphs.effects.gated import AnyBench, decided, requests


@pytest.fixture
def bench(make_bench: Callable[[Any], AnyBench]) -> AnyBench:
    gated.paid.clear()
    gated.failures[0] = 0
    return make_bench(gated)


def waiting(bench: AnyBench, **input: Any) -> tuple[UUID, ApprovalRow]:
    thread = bench.start(**input)
    assert bench.advance(thread).status is Status.WAITING
    return thread, requests(bench, thread)[-1]


def age(bench: AnyBench, row: ApprovalRow, seconds: float) -> None:
    """Let a decision be older than it is."""
    gated.age(row.id, seconds)


def test_an_edit_is_carried_out_and_nothing_else(bench: AnyBench) -> None:
    thread, row = waiting(bench)
    decided(bench, thread, row, args={"to": "Ada", "amount": "7.50"}, comment="less")
    assert bench.advance(thread).status is Status.SUCCEEDED
    assert [p[:2] for p in gated.paid] == [("Ada", "7.50")]
    assert bench.state(thread)["outcome"] == "paid 7.50 to Ada; 7.50; less"
    (effect,) = [a for a in bench.activities(thread) if a.kind == "effect"]
    assert (effect.args, effect.approval) == ({"to": "Ada", "amount": "7.50"}, row.id)


def test_what_was_done_after_an_edit_answers_when_the_node_begins_again(bench: AnyBench) -> None:
    """The recorded arguments are the reviewer's, those of the node are the author's."""
    thread, row = waiting(bench)
    decided(bench, thread, row, args={"to": "Ada", "amount": "7.50"})
    gated.failures[0] = 1
    assert bench.advance(thread).status is Status.FAILED
    bench.retry(thread)
    assert bench.advance(thread).status is Status.SUCCEEDED
    (effect,) = [a for a in bench.activities(thread) if a.kind == "effect"]
    assert (effect.attempts, effect.revision, effect.args["amount"]) == (2, 0, "7.50")
    assert gated.paid == [("Ada", "7.50", effect.idempotency_key)]


@pytest.mark.parametrize("how", ["fork", "roll_back"])
def test_what_was_done_after_an_edit_asks_before_it_happens_again(
    bench: AnyBench, how: str
) -> None:
    thread, row = waiting(bench)
    decided(bench, thread, row, args={"to": "Ada", "amount": "7.50"})
    assert bench.advance(thread).status is Status.SUCCEEDED
    if how == "fork":
        thread = bench.fork(thread, 0, {}, effects="run")
        assert bench.advance(thread).status is Status.WAITING, "its author wrote a gate"
    else:
        assert bench.roll_back(thread, 0).status is Status.PAUSED
        bench.resume(thread)
        assert bench.advance(thread).status is Status.WAITING
        again = requests(bench, thread)[-1]
        assert (again.status, again.args["amount"]) == ("pending", "10.00")
        assert again.kind == "repeat"
        assert again.repeats["args"] == '{"amount":"7.50","to":"Ada"}'
    assert len(gated.paid) == 1
    decided(bench, thread, requests(bench, thread)[-1], args={"to": "Ada", "amount": "2.00"})
    assert bench.advance(thread).status is Status.SUCCEEDED
    assert [amount for _, amount, _ in gated.paid] == ["7.50", "2.00"]


def test_an_edit_that_does_not_fit_its_hash_is_asked_again(bench: AnyBench) -> None:
    thread, row = waiting(bench)
    decided(bench, thread, row, args={"to": "Ada", "amount": "7.50"}, standing_hash="0" * 64)
    assert bench.advance(thread).status is Status.WAITING
    assert gated.paid == []
    again = requests(bench, thread)[-1]
    assert (again.revision, again.args["amount"]) == (1, "10.00")
    assert again.description.startswith("Asked again: what was decided does not match its hash.")
    assert again.description.endswith("It is due.")


def test_other_arguments_are_asked_anew_and_the_former_request_is_withdrawn(
    bench: AnyBench,
) -> None:
    thread, row = waiting(bench)
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE gp_approval SET proposal_hash = %s WHERE id = %s", ("0" * 64, row.id)
        )
    gated.ask_back(bench, thread, row, "")
    assert bench.advance(thread).status is Status.WAITING
    first, second = requests(bench, thread)
    assert (first.status, second.status, second.revision) == ("withdrawn", "pending", 1)
    assert first.comment == "It is asked again: see the newer request."
    assert bench.kinds(thread)[-1] == EventKind.APPROVAL_WITHDRAWN


def test_a_decision_that_can_be_taken_back_lets_nothing_happen_yet(bench: AnyBench) -> None:
    thread, row = waiting(bench)
    decided(bench, thread, row, status="held")
    assert bench.advance(thread).status is Status.WAITING
    assert gated.paid == []
    decided(bench, thread, row)
    assert bench.advance(thread).status is Status.SUCCEEDED
    assert len(gated.paid) == 1


def test_an_approval_runs_out(bench: AnyBench) -> None:
    thread, row = waiting(bench)
    decided(bench, thread, row)
    age(bench, row, 24 * 3600 + 5)
    assert bench.advance(thread).status is Status.WAITING
    assert gated.paid == []
    again = requests(bench, thread)[-1]
    assert again.revision == 1
    assert "manager approved it longer than 24 hours ago." in again.description
    decided(bench, thread, again)
    assert bench.advance(thread).status is Status.SUCCEEDED
    assert len(gated.paid) == 1


def test_a_second_attempt_needs_an_approval_that_still_holds(bench: AnyBench) -> None:
    thread, row = waiting(bench)
    decided(bench, thread, row)
    gated.failures[0] = 1
    assert bench.advance(thread).status is Status.FAILED
    age(bench, row, 24 * 3600 + 5)
    bench.retry(thread)
    assert bench.advance(thread).status is Status.WAITING
    again = requests(bench, thread)[-1]
    decided(bench, thread, again)
    assert bench.advance(thread).status is Status.SUCCEEDED
    (effect,) = [a for a in bench.activities(thread) if a.kind == "effect"]
    assert (effect.approval, effect.attempts, len(gated.paid)) == (again.id, 2, 1)


def test_another_edit_after_a_failure_is_an_effect_with_a_key_of_its_own(bench: AnyBench) -> None:
    thread, row = waiting(bench)
    decided(bench, thread, row)
    gated.failures[0] = 1
    assert bench.advance(thread).status is Status.FAILED
    age(bench, row, 24 * 3600 + 5)
    bench.retry(thread)
    bench.advance(thread)
    decided(bench, thread, requests(bench, thread)[-1], args={"to": "Bea", "amount": "1.00"})
    assert bench.advance(thread).status is Status.SUCCEEDED
    first, second = [a for a in bench.activities(thread) if a.kind == "effect"]
    assert (first.state, second.state, second.revision) == ("failed", "done", 1)
    assert first.idempotency_key != second.idempotency_key
    assert gated.paid == [("Bea", "1.00", second.idempotency_key)]


def test_one_execution_per_approval(bench: AnyBench) -> None:
    thread, row = waiting(bench)
    decided(bench, thread, row)
    bench.advance(thread)
    uses = [a for a in bench.activities(thread) if a.approval == row.id]
    assert len(uses) == 1


# ---- rights, which only the database knows ------------------------------------------------------


@pytest.fixture
def real(db: None) -> Bench:
    gated.paid.clear()
    gated.failures[0] = 0
    return bench_of(gated)


def test_whoever_lost_the_right_to_decide_has_decided_nothing(real: Bench) -> None:
    thread = real.start()
    real.advance(thread)
    real.decide(thread, "approve", "fine")
    store.withdraw(real.workspace, 2, "reviewer", actor="user:0")
    assert real.advance(thread).status is Status.WAITING
    assert gated.paid == []
    again = requests(real, thread)[-1]
    assert again.revision == 1
    assert "manager approved it and may no longer decide here." in again.description
    real.decide(thread, "approve")  # gives the role again
    assert real.advance(thread).status is Status.SUCCEEDED
    assert len(gated.paid) == 1
    assert real.intact(thread)


def test_whoever_may_not_sign_in_any_more_has_decided_nothing(real: Bench) -> None:
    thread = real.start()
    real.advance(thread)
    real.decide(thread, "approve", "fine")
    with connection.cursor() as cursor:
        cursor.execute("UPDATE auth_user SET is_active = false WHERE id = 2")
    assert real.advance(thread).status is Status.WAITING
    assert gated.paid == []


def test_a_role_elsewhere_is_no_right_here(real: Bench) -> None:
    thread = real.start()
    real.advance(thread)
    real.decide(thread, "approve", "fine")
    elsewhere = store.create_workspace("elsewhere", actor="user:0")
    store.grant(elsewhere, 2, "reviewer", actor="user:0")
    store.grant(real.workspace, 2, "operator", actor="user:0")
    store.withdraw(real.workspace, 2, "reviewer", actor="user:0")
    assert real.advance(thread).status is Status.WAITING
    assert gated.paid == []


def test_a_right_withdrawn_at_the_last_moment_lets_nothing_happen(
    real: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker has the thread and has read all it needs; only the write is still to come."""
    thread = real.start()
    real.advance(thread)
    real.decide(thread, "approve", "fine")
    start = store.start_activity
    moments = [True]

    def at_last(*args: Any, **more: Any) -> bool:
        if moments:
            moments.clear()
            store.withdraw(real.workspace, 2, "reviewer", actor="user:0")
        return start(*args, **more)

    monkeypatch.setattr(store, "start_activity", at_last)
    assert real.advance(thread).status is Status.WAITING
    assert not moments
    assert gated.paid == []
    assert [a for a in real.activities(thread) if a.kind == "effect"] == []
    assert "may no longer decide here." in requests(real, thread)[-1].description
    assert real.intact(thread)


def test_a_right_that_is_given_back_meanwhile_is_one(
    real: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    thread = real.start()
    real.advance(thread)
    real.decide(thread, "approve", "fine")
    store.withdraw(real.workspace, 2, "reviewer", actor="user:0")
    look = validity.doubts

    def given_back(row: ApprovalRow) -> str:
        store.grant(real.workspace, 2, "reviewer", actor="user:0")
        return look(row)

    monkeypatch.setattr(validity, "doubts", given_back)
    assert real.advance(thread).status is Status.SUCCEEDED
    assert len(gated.paid) == 1


def test_a_policys_own_decision_has_no_person_whose_rights_could_be_lost(real: Bench) -> None:
    thread = real.start()
    real.advance(thread)
    by = {"decided_by": f"policy:{gated.VERSION}", "decided_by_name": "the policy: small sums"}
    decided(real, thread, requests(real, thread)[-1], **by)
    assert real.advance(thread).status is Status.SUCCEEDED
    assert len(gated.paid) == 1


def test_a_new_request_is_news_for_others(real: Bench) -> None:
    thread = real.start()
    real.advance(thread)
    (row,) = requests(real, thread)
    with connection.cursor() as cursor:
        cursor.execute("SELECT kind, approval_id, thread_id FROM gp_outbox")
        assert cursor.fetchall() == [("approval.requested", row.id, thread)]
