"""The engine under real policies and real spend caps: nothing is stood in for."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from approvals import queries as requests
from approvals.gates import reopened_requests
from approvals.policies import changes as policies
from approvals.policies.drafts import Draft
from approvals.rules.terms import Seat, Terms
from checkpoints import store
from checkpoints.states import Status
from tests.unit.checkpoints.builders import rows
from tests.unit.workers.conftest import Bench, bench_of
from tests.unit.workers.graphs import asking
from tests.unit.workers.graphs.effects import gated

pytestmark = pytest.mark.django_db
ADMIN = "user:9"


def policy(bench: Bench, condition: str, name: str = "Bills", **more: Any) -> Any:
    return policies.make(bench.workspace, Draft(name, condition, **more), actor=ADMIN)


def cap(bench: Bench, most: str, per: str = "total", scope: str = "thread") -> None:
    policies.set_cap(bench.workspace, scope=scope, per=per, max_cost=most, actor=ADMIN)


@pytest.mark.parametrize("per", ["total", "day"])
@pytest.mark.parametrize("scope", ["thread", "agent", "workspace"])
def test_a_thread_pauses_at_a_cap_and_says_why(scope: str, per: str, settings: Any) -> None:
    settings.GATEPOST_CALL_RESERVE = "0.005"  # less than a call costs: the cap holds what it did
    asking.answering.requests.clear()
    bench = bench_of(asking)
    cap(bench, "0.02", per, scope)
    thread = bench.start()
    row = bench.advance(thread)
    assert row.status is Status.PAUSED
    assert "spent 0.025" in row.status_reason
    assert "the spend cap is 0.02" in row.status_reason
    assert len(asking.answering.requests) == 2
    cap(bench, "1", per, scope)
    bench.resume(thread)
    assert bench.advance(thread).status is Status.WAITING
    assert len(asking.answering.requests) == 3
    assert bench.intact(thread)


def test_a_thread_that_a_person_stops_before_a_node_says_their_reason() -> None:
    bench = bench_of(gated)
    thread = bench.start(asks=False)
    [node] = bench.row(thread).next_nodes
    store.pause(thread, actor=ADMIN, before_node=node, reason="count first")
    row = bench.advance(thread)
    assert (row.status, row.status_reason) == (Status.PAUSED, f"Paused before {node}: count first")
    assert bench.intact(thread)


def test_a_policy_asks_and_its_next_version_lets_it_happen() -> None:
    gated.paid.clear()
    bench = bench_of(gated)
    made = policy(bench, "tool == 'bill.pay' && amount(args.amount) >= 10", deadline=3600)
    thread = bench.start(asks=False)
    assert bench.advance(thread).status is Status.WAITING
    row = bench.open(thread)
    assert row.policy_version == made.label
    assert row.deadline is not None
    assert row.terms["rule"] == "The policy “Bills” asks for it."
    assert gated.paid == []
    bench.decide(thread, "approve")
    assert bench.advance(thread).status is Status.SUCCEEDED
    assert len(gated.paid) == 1
    waits = bench.start(asks=False)
    bench.advance(waits)
    old = bench.open(waits)
    newer = policies.change(
        made.policy,
        Draft("Bills", "amount(args.amount) < 50", action="allow"),
        workspace=bench.workspace,
        seen=1,
        actor=ADMIN,
    )
    free = bench.start(asks=False)
    assert bench.advance(free).status is Status.SUCCEEDED
    assert bench.open(waits) == old, "it keeps what it was asked under"
    reopened_requests.withdraw_of_policy(
        made.policy, newer.label, workspace=bench.workspace, reason="changed", actor=ADMIN
    )
    assert bench.advance(waits).status is Status.SUCCEEDED
    assert len(gated.paid) == 3
    assert bench.approvals(waits)[0].status == "withdrawn"
    assert all(bench.intact(t) for t in (thread, free, waits))


def test_a_reopened_request_is_asked_of_its_first_stage_again_once() -> None:
    """What an admin reopens becomes a new request: those who had approved hear of that one."""
    gated.paid.clear()
    bench = bench_of(gated)
    two = Terms(stages=(Seat(), Seat()))
    made = policy(bench, "tool == 'bill.pay'", terms=two)
    thread = bench.start(asks=False)
    bench.advance(thread)
    old = bench.open(thread)
    bench.decide(thread, "approve")
    assert kinds_of(old.id) == ["approval.requested", "approval.turn"]
    newer = policies.change(
        made.policy, Draft("Bills", "true", terms=two), workspace=bench.workspace, seen=1,
        actor=ADMIN,
    )  # fmt: skip
    reopened_requests.withdraw_of_policy(
        made.policy, newer.label, workspace=bench.workspace, reason="changed", actor=ADMIN
    )
    assert bench.advance(thread).status is Status.WAITING
    new = bench.open(thread)
    assert new.id != old.id
    assert requests.votes(new.id) == []
    assert kinds_of(old.id)[2:] == ["approval.withdrawn"]
    assert kinds_of(new.id) == ["approval.requested"]


def kinds_of(approval: UUID) -> list[str]:
    """The news of a request, oldest first."""
    result = rows("SELECT kind FROM gp_outbox WHERE approval_id = %s ORDER BY at, id", (approval,))
    return [kind for (kind,) in result]


def test_a_missing_value_asks_rather_than_lets_happen() -> None:
    gated.paid.clear()
    bench = bench_of(gated)
    policy(bench, "amount(args.total) < 50", "Small", action="allow")
    policy(bench, "amount(args.total) >= 50", "Large", terms=Terms(four_eyes=True))
    thread = bench.start(asks=False)
    assert bench.advance(thread).status is Status.WAITING
    row = bench.open(thread)
    assert "there is no total" in row.terms["rule"]
    assert row.terms["barred"] == ["user:1"]
    assert gated.paid == []
