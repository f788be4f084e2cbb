"""A corrupt newest checkpoint is skipped with an alert; nothing recorded is done again."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

import pytest
import structlog

from approvals.verification.proof import verify
from checkpoints import queries, store
from checkpoints.states import EventKind, Status
from dashboard.wording.why import why_waiting
from tests.unit.checkpoints.builders import rows
from tests.unit.workers.conftest import Bench, bench_of
from tests.unit.workers.graphs import samples

pytestmark = [pytest.mark.django_db, pytest.mark.requirement("A06")]


@pytest.fixture
def bench(db: None) -> Bench:
    samples.counter.calls.clear()
    return bench_of(samples)


def corrupt(thread: UUID, number: int, change: str) -> None:
    rows("SET session_replication_role = replica")
    rows(
        f"UPDATE gp_checkpoint SET {change} WHERE thread_id = %s::uuid AND number = %s",
        (thread, number),
    )
    rows("SET session_replication_role = DEFAULT")


CHANGES = {
    "another delta": 'delta = \'{"set": {"goal": "gold"}}\'',
    "no delta at all": "delta = '[7]'",
    "another hash": "state_hash = sha256(state_hash)",
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_the_one_before_is_used_and_no_activity_is_called_again(
    bench: Bench, tmp_path: Path, change: str
) -> None:
    thread = bench.start(goal="tea", rounds=3, folder=str(tmp_path))
    row = bench.advance(thread)
    assert (row.status, row.number, row.step) == (Status.WAITING, 3, 3)
    calls = list(samples.counter.calls)
    good = bench.state(thread)
    corrupt(thread, 3, change)
    bench.decide(thread, "approve", "fine")
    with structlog.testing.capture_logs() as payload:
        row = bench.advance(thread)
    assert row.status is Status.SUCCEEDED
    assert [e["event"] for e in payload if e["log_level"] == "critical"] == ["checkpoint.skipped"]
    assert samples.counter.count("look_up") == calls.count("look_up"), "answered from the record"
    assert samples.counter.count("place") == 1
    assert bench.state(thread) == {**good, **_outcome(bench, thread)}
    (skipped,) = [
        e for e in queries.events_after(thread, 0) if e.kind == EventKind.CHECKPOINT_SKIPPED
    ]
    assert (skipped.data["from"], skipped.data["to"]) == (3, 2)
    noted = queries.verification(thread)
    assert noted is not None
    assert not noted.intact, "the worker stores what it found"
    assert "Checkpoint #3 was skipped" in noted.what
    assert noted.found_by == "worker:test"
    assert alarms(thread) == 1
    (commit,) = [
        e
        for e in queries.events_after(thread, 0)
        if e.kind == EventKind.CHECKPOINT_COMMITTED and e.data["number"] == 3
    ]
    assert noted.broken_seq == commit.seq
    report = verify(thread)
    assert not report.intact, "the record says what happened to it"


def alarms(thread: UUID) -> int:
    """How often somebody was told that the record of the thread is damaged."""
    result = rows(
        "SELECT count(*) FROM gp_outbox WHERE kind = 'record.damaged' AND thread_id = %s", (thread,)
    )
    return int(result[0][0])


def _outcome(bench: Bench, thread: UUID) -> dict[str, object]:
    state = bench.state(thread)
    return {key: state[key] for key in ("receipt", "outcome")}


def test_several_corrupt_ones_are_skipped_together(bench: Bench, tmp_path: Path) -> None:
    thread = bench.start(goal="tea", rounds=3, folder=str(tmp_path))
    bench.advance(thread)
    calls = samples.counter.count("look_up")
    corrupt(thread, 2, CHANGES["another delta"])  # the third rests on it
    bench.decide(thread, "approve", "fine")
    assert bench.advance(thread).status is Status.SUCCEEDED
    assert samples.counter.count("look_up") == calls
    assert samples.counter.count("place") == 1


def test_a_thread_without_a_sound_checkpoint_asks_for_a_person(
    bench: Bench, tmp_path: Path
) -> None:
    thread = bench.start(goal="tea", rounds=1, folder=str(tmp_path))
    bench.advance(thread)
    corrupt(thread, 0, "state_hash = sha256(state_hash)")
    corrupt(thread, 1, "state_hash = sha256(state_hash)")
    bench.decide(thread, "approve", "fine")
    row = bench.advance(thread)
    assert row.status is Status.ATTENTION
    assert "manage.py verify" in row.status_reason
    assert alarms(thread) == 1
    why = why_waiting(row)
    assert why is not None
    assert "restore what was altered" in why.action
    assert samples.counter.count("place") == 0


def test_what_another_branch_did_is_not_done_again(bench: Bench, tmp_path: Path) -> None:
    thread = bench.start(goal="tea", rounds=2, folder=str(tmp_path))
    bench.advance(thread)
    bench.decide(thread, "approve", "fine")
    bench.advance(thread)
    bench.roll_back(thread, 2)
    head = bench.row(thread)
    corrupt(thread, head.number, "state_hash = sha256(state_hash)")
    store.resume(thread, actor="user:1")
    row = bench.advance(thread)
    assert row.status is Status.WAITING, "the rollback's target is as good as its checkpoint"
    assert samples.counter.count("place") == 1
    for number in range(row.number + 1):
        corrupt(thread, number, "state_hash = sha256(state_hash)")
    bench.decide(thread, "approve", "again")
    row = bench.advance(thread)
    assert row.status is Status.ATTENTION
    assert samples.counter.count("place") == 1
