"""A play in memory writes what the real store would: logs, states, guards, copies."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any

import pytest

from approvals.errors import AlreadyDecided, ProposalChanged
from approvals.gates import Reviewer
from checkpoints import leases
from checkpoints.errors import CorruptHistory, LeaseLost
from checkpoints.state.deltas import canonical
from checkpoints.states import Status
from tests.unit.workers.conftest import Bench, bench_of
from tests.unit.workers.graphs import samples, talking
from tests.unit.workers.graphs.samples import counter, graph
from tests.unit.workers.memory_bench import MemoryBench, memory_bench_of
from workers.testing.harness import Harness
from workers.testing.memory import people, requests
from workers.testing.memory.ledger import MemoryLedger
from workers.testing.memory.tables import read, written


@pytest.fixture(autouse=True)
def _emptied() -> None:
    counter.calls.clear()
    talking.during.calls.clear()


def scenario(bench: Bench | MemoryBench, folder: Path) -> list[Any]:
    """Much of what can happen to a thread; its threads."""
    base = bench.start(folder=str(folder), rounds=2)
    bench.pause(base, before_node="buy")
    bench.advance(base)
    bench.resume(base)
    bench.advance(base)
    bench.edit(base, {"goal": "coffee", "facts": {"zz": 1, "a": [1.0, 1e16, {"b": None}]}}, "why")
    bench.resume(base)
    bench.advance(base)
    fork = bench.fork(base, 1, {"goal": "milk"}, reason="try milk")
    bench.advance(fork)
    bench.decide(base, "approve", "fine")
    bench.advance(base)
    bench.roll_back(base, 1)
    bench.resume(base)
    bench.advance(base)
    bench.decide(base, "reject", "no")
    bench.advance(base)
    bench.cancel(fork)
    return [base, fork]


PLACES = (
    (re.compile(r"[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}"), "<id>"),
    (re.compile(r"\b[0-9a-f]{64}\b"), "<hash>"),
    (re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+\+00:00"), "<time>"),
    (re.compile(r',"usage":\{"milliseconds":\d+\}'), ""),
    (re.compile(r'"milliseconds":\d+,'), ""),
)


def log_of(bench: Bench | MemoryBench, thread: Any) -> list[str]:
    """A log with ids, hashes and times taken out."""
    results = []
    for e in bench.events(thread):
        text = canonical(e.data).decode()
        for pattern, name in PLACES:
            text = pattern.sub(name, text)
        results.append(f"{e.seq} {e.kind} {e.actor} {text}")
    return results


@pytest.mark.requirement("B12")
def test_memory_and_database_write_the_same_log_and_states(db: None, tmp_path: Path) -> None:
    real, memory = bench_of(samples), memory_bench_of(samples)
    there, here = scenario(real, tmp_path), scenario(memory, tmp_path)
    for one, other in zip(there, here, strict=True):
        assert log_of(memory, other) == log_of(real, one)
        assert len(real.events(one)) > 4
        for a, b in zip(real.checkpoints(one), memory.checkpoints(other), strict=True):
            same = ("number", "branch", "step", "source", "nodes", "next_nodes")
            same += ("state_bytes", "schema_version", "abandoned", "parent_number", "created_by")
            assert [getattr(a, k) for k in same] == [getattr(b, k) for k in same]
            assert real.checkpoint(one, a.number).delta == b.delta
            # Equal down to the order of keys, which an author's loop may depend on.
            state, state_b = real.state_at(one, a.id), memory.state_at(other, b.id)
            assert repr(state["facts"]) == repr(state_b["facts"])
            assert state == state_b
            assert a.state_hash == b.state_hash
        row, row_b = real.row(one), memory.row(other)
        same = ("status", "status_reason", "version", "last_seq", "step", "fence", "n_steps")
        assert [getattr(row, k) for k in same] == [getattr(row_b, k) for k in same]
        for x, y in zip(real.activities(one), memory.activities(other), strict=True):
            same = ("node", "key", "kind", "tool", "state", "args", "error", "attempts", "undo")
            assert [getattr(x, k) for k in same] == [getattr(y, k) for k in same]
    assert all(real.intact(t) for t in there)
    assert all(memory.intact(t) for t in here)


def test_a_worker_without_the_lease_cannot_write(tmp_path: Path) -> None:
    bench = memory_bench_of(samples)
    thread = bench.start(folder=str(tmp_path))
    first = people.acquire(bench.tables, thread, owner="worker:a")
    assert first is not None
    assert people.acquire(bench.tables, thread, owner="worker:b") is None
    assert people.take_over(bench.tables, thread, owner="worker:b") is None
    bench.pass_time(people.LEASE_SECONDS + 1)
    second = people.take_over(bench.tables, thread, owner="worker:b")
    assert second is not None
    before = log_of(bench, thread)
    with pytest.raises(LeaseLost):
        MemoryLedger(bench.tables).leave(first, leases.EventKind.THREAD_FAILED)
    with pytest.raises(LeaseLost):
        MemoryLedger(bench.tables).hand_back(first, "too late")
    assert log_of(bench, thread) == before
    assert bench.row(thread).status is Status.RUNNING


def test_a_request_is_decided_once_and_as_it_was_seen(tmp_path: Path) -> None:
    bench = memory_bench_of(samples)
    thread = bench.start(folder=str(tmp_path), rounds=1)
    bench.advance(thread)
    seen = bench.open(thread)
    payload: dict[str, Any] = {"reviewer": Reviewer("user:2", "manager"), "verdict": "approve"}
    with pytest.raises(ProposalChanged):
        requests.decide(bench.tables, seen.id, proposal_hash="0" * 64, **payload)
    requests.decide(bench.tables, seen.id, proposal_hash=seen.proposal_hash, **payload)
    with pytest.raises(AlreadyDecided, match="manager already decided this request: approve"):
        requests.decide(bench.tables, seen.id, proposal_hash=seen.proposal_hash, **payload)
    assert bench.kinds(thread).count("approval.decided") == 1
    assert bench.advance(thread).status is Status.SUCCEEDED


def test_three_lost_workers_are_enough(tmp_path: Path) -> None:
    bench = memory_bench_of(samples)
    thread = bench.start(folder=str(tmp_path))
    assert people.acquire(bench.tables, thread, owner="worker:a")
    taken = 0
    while bench.row(thread).status is Status.RUNNING:
        bench.pass_time(people.LEASE_SECONDS + 1)
        taken += people.take_over(bench.tables, thread, owner="worker:b") is not None
    assert (taken, bench.row(thread).status) == (2, Status.ATTENTION)


def test_what_was_altered_in_memory_is_found(tmp_path: Path) -> None:
    thread = Harness(graph).play({"folder": str(tmp_path), "rounds": 1}, decide="approve")
    log = thread._tables.events[thread.id]
    was = log[3]
    log[3] = was.__class__(**{f: getattr(was, f) for f in was.__slots__} | {"data": "{}"})
    with pytest.raises(CorruptHistory, match="Event 4"):
        thread.verify()


def test_what_is_read_is_a_copy(tmp_path: Path) -> None:
    thread = Harness(graph).play({"folder": str(tmp_path), "rounds": 1}, decide="approve")
    thread.state["notes"].append("sneaked in")
    thread.activities[0].result["price"] = "0"
    thread.events[0].data.clear()
    assert thread.state["notes"] == ["tea 1"]
    assert thread.activities[0].result["price"] == "3.50"
    assert thread.verify()
    assert read(written({"bb": 1, "a": 1.0})) == {"a": 1, "bb": 1}


def test_other_code_can_be_put_in_place(tmp_path: Path) -> None:
    harness = Harness(graph)
    thread = harness.play({"folder": str(tmp_path), "rounds": 1})
    changed = dataclasses.replace(graph, nodes=dict(graph.nodes))
    harness.install(changed)
    assert thread.decide("approve").status == "attention"
    assert "changed since this thread last worked" in thread.reason
    # What was decided under other code is asked again.
    assert thread.retry().status == "waiting"
    assert thread.decide("approve").status == "succeeded"
    harness.install(dataclasses.replace(changed, on_code_change="go_on"))
    assert thread.roll_back(to=0).resume(decide="approve").status == "succeeded"
    assert thread.kinds.count("code.changed") == 2
