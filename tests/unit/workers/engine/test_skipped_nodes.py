"""A person lets a stopped thread go past a node; on the real store and on the ledger in memory."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from functools import partial

import pytest

from checkpoints import store
from checkpoints.errors import NotAllowedNow, StaleVersion
from checkpoints.states import Status
from tests.unit.checkpoints.builders import rows
from tests.unit.workers.conftest import Bench, bench_of
from tests.unit.workers.graphs.effects import skipping, unsure
from tests.unit.workers.graphs.effects.settled import lost
from tests.unit.workers.graphs.effects.skipping import World

type AnyBench = Bench


@pytest.fixture
def bench(make_bench: Callable[[object], AnyBench]) -> AnyBench:
    """The agent with two branches, one of which fails."""
    World.broken, World.calls = True, []
    return make_bench(skipping)


def failed(bench: AnyBench) -> uuid.UUID:
    """A thread whose branch `translate` failed, beside `count`, which is done."""
    thread = bench.start()
    row = bench.advance(thread)
    assert row.status is Status.FAILED, row.status_reason
    return thread


@pytest.mark.requirement("B43")
def test_a_skipped_node_counts_as_finished_without_an_update(bench: AnyBench) -> None:
    thread = failed(bench)
    bench.skip(thread, "translate", "the service was shut down")
    assert bench.row(thread).status is Status.QUEUED
    row = bench.advance(thread)
    # The agent's own code chose the way on: without a translation it asks.
    assert row.status is Status.WAITING, row.status_reason
    assert sorted(bench.state(thread)["words"]) == ["collected", "counted", "reported"]
    assert World.calls.count("count") == 1, "the branch that was done is not worked again"
    assert World.calls.count("post begun") == 1, "what the skipped node did stays done, once"
    (skipped,) = [e for e in bench.events(thread) if e.kind == "node.skipped"]
    assert skipped.actor == "user:1"
    assert (skipped.data["node"], skipped.data["reason"]) == (
        "translate",
        "the service was shut down",
    )
    step = next(c for c in bench.checkpoints(thread) if "translate" in c.nodes)
    assert sorted(step.nodes) == ["count", "translate"]
    assert bench.intact(thread)


def test_a_paused_thread_stays_paused(bench: AnyBench) -> None:
    thread = bench.start()
    bench.pause(thread)
    bench.skip(thread, "collect")
    assert bench.row(thread).status is Status.PAUSED
    bench.resume(thread)
    World.broken = False
    assert bench.advance(thread).status is Status.SUCCEEDED
    assert sorted(bench.state(thread)["words"]) == ["counted", "reported", "translated"]
    assert bench.intact(thread)


def test_a_rollback_forgets_the_skip(bench: AnyBench) -> None:
    thread = failed(bench)
    bench.skip(thread, "translate")
    bench.advance(thread)
    World.broken = False
    bench.roll_back(thread, 1)
    bench.resume(thread)
    # The node works again, so a person is asked whether it may post again.
    assert bench.advance(thread).status is Status.WAITING
    bench.decide(thread, "approve")
    assert bench.advance(thread).status is Status.SUCCEEDED
    assert "translated" in bench.state(thread)["words"]
    assert bench.intact(thread)


def test_what_can_not_be_skipped_is_refused_and_nothing_is_written(bench: AnyBench) -> None:
    thread = failed(bench)
    before = bench.kinds(thread)
    for node in ("report", "nobody"):
        with pytest.raises(NotAllowedNow, match="is not a node of the present step"):
            bench.skip(thread, node)
    with pytest.raises(NotAllowedNow, match="has finished in this step"):
        bench.skip(thread, "count")
    assert bench.kinds(thread) == before
    bench.skip(thread, "translate")
    with pytest.raises(NotAllowedNow, match="while the thread is queued"):
        bench.skip(thread, "translate")


def test_an_effect_with_an_unknown_outcome_comes_first(
    make_bench: Callable[[object], AnyBench],
) -> None:
    unsure.world.clear()
    bench = make_bench(unsure)
    thread = lost(bench)
    node = bench.row(thread).next_nodes[0]
    with pytest.raises(NotAllowedNow, match="happened is unknown"):
        bench.skip(thread, node)
    assert bench.row(thread).status is Status.ATTENTION


@pytest.mark.usefixtures("db")
def test_the_second_of_two_skips_is_refused() -> None:
    World.broken, World.calls = True, []
    bench = bench_of(skipping)
    thread = failed(bench)
    seen = bench.row(thread).version
    skip = partial(store.skip, thread, node="translate", expected_version=seen)
    skip(reason="mine", actor="user:1")
    with pytest.raises(StaleVersion):
        skip(reason="theirs", actor="user:2")
    assert rows("SELECT data ->> 'reason' FROM gp_event WHERE kind = 'node.skipped'") == [("mine",)]
