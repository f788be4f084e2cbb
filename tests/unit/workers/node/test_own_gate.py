"""No effect of a node starts before its own gate is decided, whatever was approved beside it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from approvals.gates.prior_effects import prior_effects
from checkpoints import leases, queries, store
from checkpoints.errors import LeaseLost
from checkpoints.records import Position
from checkpoints.states import Status
from tests.unit.checkpoints.builders import new_activity, rows
from tests.unit.workers.conftest import Bench, bench_of
from tests.unit.workers.graphs import several
from tests.unit.workers.graphs.effects import three_gates
from tests.unit.workers.graphs.effects.gated import AnyBench, decided, requests
from workers.node.records import here
from workers.step.ledger import DatabaseLedger

pytestmark = [pytest.mark.django_db, pytest.mark.requirement("C32")]


@pytest.fixture
def bench(db: None) -> Bench:
    three_gates.made.clear()
    return bench_of(three_gates)


def started(thread: object) -> list[str]:
    """Tools of the effects on record."""
    sql = "SELECT tool FROM gp_activity WHERE thread_id = %s AND kind = 'effect' ORDER BY id"
    return [tool for (tool,) in rows(sql, (thread,))]


def test_each_effect_of_a_node_waits_for_its_own_gate_and_shows_those_before(bench: Bench) -> None:
    thread = bench.start()
    did = ["bank.reserve"]
    for tool in ("bank.pay", "mail.tell"):
        row = bench.advance(thread)
        assert row.status is Status.WAITING
        request = bench.open(thread)
        assert request.tool == tool
        before = prior_effects(request)
        assert [one.tool for one in before.rows] == did == started(thread)
        assert before.rows[0].fate == "done; it can be undone"
        # A worker that comes again does not get the thread, so nothing of it starts.
        assert leases.acquire(thread, owner="worker:other") is None
        assert started(thread) == did
        bench.decide(thread, "approve")
        did = [*did, tool]
    assert bench.advance(thread).status is Status.SUCCEEDED
    assert three_gates.made == ["reserve", "pay", "tell"]
    assert started(thread) == did


def test_an_effect_is_refused_under_a_request_that_nobody_decided(bench: Bench) -> None:
    """The statement that starts it is tried directly, with the lease of a worker that went on."""
    thread = bench.start()
    work = leases.acquire(thread, owner="worker:test")
    assert work is not None
    ledger = DatabaseLedger()
    first = new_activity(work, "bank.reserve#0", kind="effect", tool="bank.reserve")
    assert ledger.begin_effect(work, first, []) == ""
    store.finish_activity(work, first, state="done", result="reserved")
    store.hand_back(work, reason="for the gate")
    bench.advance(thread)
    request = bench.open(thread)
    at = Position(request.branch, request.step, request.node, request.index, request.key)
    effect = new_activity(work, at.key, kind="effect", tool=request.tool, approval=request.id)
    with pytest.raises(LeaseLost):
        ledger.begin_effect(work, effect, [], request)
    assert request.tool not in started(thread)
    assert queries.activity_under(request.id) is None


@pytest.mark.parametrize("verdict", ["", "held", "reject"])
def test_a_worker_at_work_in_a_sibling_starts_no_effect_whose_gate_is_not_decided(
    make_bench: Callable[[Any], AnyBench], monkeypatch: pytest.MonkeyPatch, verdict: str
) -> None:
    """The lease is live and the sibling's effect under way: only its own gate lets one start."""
    several.sent.clear()
    several.meanwhile.clear()
    monkeypatch.setattr(several.graph, "nodes_at_once", 1)
    bench = make_bench(several)
    thread = bench.start()
    bench.advance(thread)
    pending = {a.title[5]: a for a in requests(bench, thread)}
    tried: list[str] = []

    def start_b() -> None:
        step, request = here.get()._step, pending["b"]
        if verdict == "held":  # its reviewer can still take it back
            decided(bench, thread, pending["b"], status="held")
            if isinstance(bench, Bench):
                rows(
                    "UPDATE gp_approval SET effective_at = clock_timestamp() + interval '1 hour' "
                    "WHERE id = %s RETURNING id",
                    (request.id,),
                )
        elif verdict:
            decided(bench, thread, pending["b"], outcome=verdict, comment="no")
        at = Position(request.branch, request.step, request.node, request.index, request.key)
        effect = new_activity(
            step.work, at.key, kind="effect", position=at, approval=request.id, args=request.args
        )
        tried.append(step.ledger.begin_effect(step.work, effect, [], request))

    several.meanwhile.append(start_b)
    decided(bench, thread, pending["a"])
    bench.advance(thread)
    assert tried == ["Nobody has approved it."]
    assert several.sent == ["a"]
    effects = [a.node for a in bench.activities(thread) if a.kind == "effect"]
    assert effects == ["send_a"]
    assert bench.intact(thread)
