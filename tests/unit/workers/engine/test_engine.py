"""The engine, on the real store and in memory: cycles, gates, effects, forks, rollbacks."""

from __future__ import annotations

from pathlib import Path

import pytest

from checkpoints.states import Status
from tests.unit.workers.conftest import Bench
from tests.unit.workers.graphs.samples import counter


@pytest.mark.requirement("A17")
@pytest.mark.requirement("C09")
def test_a_cycle_is_checkpointed_at_each_pass(bench: Bench, tmp_path: Path) -> None:
    thread = bench.start(folder=str(tmp_path), rounds=3)
    row = bench.advance(thread)
    assert row.status is Status.WAITING
    assert row.step == 3
    rows = bench.checkpoints(thread)
    assert [c.nodes for c in rows] == [("gather",), ("gather",), ("gather",), ()]
    assert [bench.state_at(thread, c.id)["done"] for c in rows] == [3, 2, 1, 0]
    assert counter.count("look_up") == 3


@pytest.mark.requirement("A34")
@pytest.mark.requirement("C31")
@pytest.mark.requirement("C32")
def test_a_gate_stops_before_the_effect_and_goes_on_exactly_there(
    bench: Bench, tmp_path: Path
) -> None:
    thread = bench.start(folder=str(tmp_path), rounds=1)
    assert bench.advance(thread).status is Status.WAITING
    request = bench.open(thread)
    assert request.args == {"folder": str(tmp_path), "goal": "tea"}
    assert request.reasons == ["The price is fine."]
    assert not (tmp_path / "order.txt").exists()
    assert counter.count("place") == 0

    bench.decide(thread, "approve", "go ahead")
    row = bench.advance(thread)
    assert row.status is Status.SUCCEEDED
    assert counter.count("place") == 1
    assert counter.count("look_up") == 1
    assert (tmp_path / "order.txt").exists()
    assert bench.state(thread)["outcome"] == "bought, go ahead"
    kinds = bench.kinds(thread)
    assert kinds.index("approval.requested") < kinds.index("approval.decided")
    assert kinds.index("approval.decided") < kinds.index("effect.started")
    assert kinds.index("effect.started") < kinds.index("effect.finished")
    # The node began twice; what it thought is in the log once.
    assert kinds.count("thought.recorded") == 2


def test_a_rejection_reaches_the_agent_with_its_reason(bench: Bench, tmp_path: Path) -> None:
    thread = bench.start(folder=str(tmp_path), rounds=1)
    bench.advance(thread)
    bench.decide(thread, "reject", "too dear")
    assert bench.advance(thread).status is Status.SUCCEEDED
    assert bench.state(thread)["outcome"] == "rejected: too dear"
    assert counter.count("place") == 0


@pytest.mark.requirement("A19")
def test_rollback_undoes_the_effect_once_and_the_next_step_takes_edited_values(
    bench: Bench, tmp_path: Path
) -> None:
    thread = bench.start(folder=str(tmp_path), rounds=1)
    bench.advance(thread)
    bench.decide(thread, "approve")
    bench.advance(thread)
    assert (tmp_path / "order.txt").read_text().startswith("tea ")

    row = bench.roll_back(thread, 1)
    assert row.status is Status.PAUSED
    assert (row.step, row.branch) == (1, 1)
    assert counter.count("take_back") == 1
    assert not (tmp_path / "order.txt").exists()
    abandoned = [c.number for c in bench.checkpoints(thread) if c.abandoned]
    assert abandoned == [2]

    bench.edit(thread, {"goal": "coffee"}, "no tea")
    bench.resume(thread)
    assert bench.advance(thread).status is Status.WAITING
    assert bench.open(thread).args["goal"] == "coffee"
    bench.decide(thread, "approve")
    assert bench.advance(thread).status is Status.SUCCEEDED
    assert (tmp_path / "order.txt").read_text().startswith("coffee ")
    assert counter.count("place") == 2
    assert len(bench.approvals(thread)) == 2


@pytest.mark.requirement("C16")
def test_a_fork_works_its_own_way_beside_the_untouched_base(bench: Bench, tmp_path: Path) -> None:
    base = bench.start(folder=str(tmp_path), rounds=2)
    bench.advance(base)
    before = [(c.id, c.state_hash) for c in bench.checkpoints(base)]
    seq = bench.row(base).last_seq
    fork = bench.fork(base, 1, {"goal": "milk"})
    row = bench.advance(fork)
    assert row.status is Status.WAITING
    assert bench.state(fork)["notes"] == ["tea 1", "milk 2"]
    assert [(c.id, c.state_hash) for c in bench.checkpoints(base)] == before
    assert bench.row(base).last_seq == seq
    bench.decide(fork, "approve")
    assert bench.advance(fork).status is Status.SUCCEEDED
    assert bench.row(base).status is Status.WAITING


def test_a_fork_of_the_end_has_nothing_left_to_do(bench: Bench, tmp_path: Path) -> None:
    base = bench.start(folder=str(tmp_path), rounds=1)
    bench.advance(base)
    bench.decide(base, "approve")
    assert bench.advance(base).status is Status.SUCCEEDED
    calls = list(counter.calls)
    fork = bench.fork(base, bench.row(base).number, {"goal": "milk"})
    assert bench.advance(fork).status is Status.SUCCEEDED
    assert bench.state(fork) == {**bench.state(base), "goal": "milk"}
    assert counter.calls == calls
    assert bench.intact(fork)


def test_a_stop_hands_the_thread_back_between_activities(bench: Bench, tmp_path: Path) -> None:
    thread = bench.start(folder=str(tmp_path), rounds=3)
    bench.stopping = lambda: counter.count("look_up") >= 2
    row = bench.advance(thread)
    assert row.status is Status.QUEUED
    assert row.step == 2
    bench.stopping = lambda: False
    assert bench.advance(thread).status is Status.WAITING
    assert counter.count("look_up") == 3


def test_a_pause_wish_is_obeyed_at_the_next_step(bench: Bench, tmp_path: Path) -> None:
    thread = bench.start(folder=str(tmp_path), rounds=1)
    bench.pause(thread, before_node="buy")
    row = bench.advance(thread)
    assert row.status is Status.PAUSED
    assert row.next_nodes == ("buy",)
    assert "buy" in row.status_reason
    bench.resume(thread)
    assert bench.advance(thread).status is Status.WAITING
