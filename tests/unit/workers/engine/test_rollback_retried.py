"""A rollback that stopped half-way for want of code goes on undoing when it is retried."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from checkpoints.states import Status
from tests.unit.workers.conftest import Bench
from tests.unit.workers.graphs import samples
from tests.unit.workers.graphs.samples import counter
from workers.engine.step_outcomes import refuse_missing


@pytest.fixture
def bench(make_bench: Any) -> Bench:
    counter.calls.clear()
    made: Bench = make_bench(samples)
    return made


def test_retrying_a_rollback_that_parked_for_missing_code_undoes_and_moves_back(
    bench: Bench, tmp_path: Path
) -> None:
    """It went on from the old head once, with the order still placed."""
    thread = bench.start(folder=str(tmp_path), rounds=1)
    bench.advance(thread)
    bench.decide(thread, "approve")
    assert bench.advance(thread).status is Status.SUCCEEDED
    head = bench.row(thread).head
    bench.begin_roll_back(thread, 1)
    refuse_missing(bench.ledger(), bench.lease(thread))
    row = bench.row(thread)
    assert (row.status, row.head) == (Status.ATTENTION, head)
    assert "No code for the agent 'orders'" in row.status_reason

    bench.retry(thread)
    assert bench.row(thread).status is Status.ROLLING_BACK
    row = bench.advance(thread)
    assert (row.status, row.step, row.branch) == (Status.PAUSED, 1, 1)
    assert row.rollback is None
    assert counter.count("take_back") == 1
    assert not (tmp_path / "order.txt").exists()
