"""Undo of a whole thread: when a step fails, when a person cancels, and when an undo fails."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from checkpoints.states import Status
from tests.support.logs import logs_of
from tests.unit.workers.conftest import Bench
from tests.unit.workers.graphs.effects import undo_samples as journey
from tests.unit.workers.graphs.effects.undo_samples import calls, fails, keys
from workers.authoring.errors import GraphError
from workers.engine import rollback
from workers.testing.harness import Harness

HOUSES = Bench


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    journey.forget()
    monkeypatch.setattr(rollback, "PAUSES", (0.01, 0.02))


@pytest.fixture
def bench(make_bench: Any) -> HOUSES:
    made: HOUSES = make_bench(journey)
    return made


def play(bench: HOUSES, *plan: str) -> UUID:
    thread = bench.start(plan=list(plan))
    finish(bench, thread)
    return thread


def finish(bench: HOUSES, thread: UUID) -> Any:
    """As workers and the clock would; a worker that is lost is taken over from."""
    while bench.row(thread).status in (Status.QUEUED, Status.ROLLING_BACK):
        if bench.row(thread).wake_at is not None:
            bench.pass_time(0.03)
        bench.advance(thread)
    return bench.row(thread)


def states(bench: HOUSES, thread: UUID) -> dict[str, str]:
    results = [a for a in bench.activities(thread) if a.kind == "effect"]
    return {a.args["name"]: a.state for a in results}


@pytest.mark.requirement("C21")
@pytest.mark.requirement("C22")
def test_what_was_done_before_the_failing_step_is_undone_last_first(bench: HOUSES) -> None:
    thread = play(bench, "train", "hotel+letter", "museum", "fail")
    assert calls == [
        *("book train", "book hotel", "write letter", "book museum"),
        *("undo museum", "undo hotel", "undo train"),
    ]
    row = bench.row(thread)
    assert row.status is Status.FAILED
    assert row.status_reason.startswith("go: raised ValueError: the card was declined")
    assert row.status_reason.endswith(
        " Undone: book of step 3, book of step 2, book of step 1. "
        "Not undone: write of step 2 (cannot be undone)."
    )
    # Nothing that the state says is undone: it stands before the first of them.
    assert (row.step, row.branch, bench.state(thread)["done"]) == (0, 1, [])
    assert row.rollback is None
    assert bench.intact(thread)


def test_a_retry_begins_with_new_keys_where_the_undo_led(bench: HOUSES) -> None:
    thread = play(bench, "letter", "train", "fail")
    first = {a.key: a.idempotency_key for a in bench.activities(thread) if a.tool == "book"}
    assert bench.row(thread).step == 1  # what cannot be undone is not done again
    bench.retry(thread)
    finish(bench, thread)
    assert calls.count("write letter") == 1
    assert calls.count("book train") == calls.count("undo train") == 2
    again = [a.idempotency_key for a in bench.activities(thread) if a.tool == "book"]
    assert len(set(again)) == 2
    assert set(first.values()) < set(again)
    assert len(keys["train"]) == 2
    assert bench.intact(thread)


def test_what_failed_or_never_began_is_not_undone(bench: HOUSES) -> None:
    journey.refused.add("hotel")
    thread = play(bench, "train", "hotel", "museum")
    assert calls == ["book train", "book hotel", "undo train"]
    assert states(bench, thread) == {"train": "compensated", "hotel": "failed"}


def test_without_anything_to_undo_a_failure_is_a_failure(bench: HOUSES) -> None:
    thread = play(bench, "letter", "fail")
    row = bench.row(thread)
    assert (row.status, row.step, row.branch) == (Status.FAILED, 1, 0)
    assert "rollback.started" not in bench.kinds(thread)


def test_an_agent_that_does_not_ask_for_it_keeps_what_it_did() -> None:
    plain = replace(journey.graph, on_failure="keep")
    thread = Harness(plain).play({"plan": ["train", "fail"]})
    assert (thread.status, thread.step, calls) == (Status.FAILED, 1, ["book train"])
    # What is described is part of the fingerprint: nothing changes for agents that were there.
    assert "on_failure" not in plain.describe_graph()
    assert journey.graph.describe_graph()["on_failure"] == "undo"
    with pytest.raises(GraphError, match="on_failure='all' must be"):
        replace(plain, on_failure="all")  # type: ignore[arg-type]


@pytest.mark.requirement("C23")
def test_an_undo_that_fails_is_tried_again_then_the_rest_still_happen(bench: HOUSES) -> None:
    fails.update(hotel=3, train=2)
    with logs_of(rollback) as logs:
        thread = play(bench, "train", "hotel", "museum", "fail")
    # One after the other, in order, also while one is tried again.
    assert [c for c in calls if c.startswith("undo")] == [
        *("undo museum", "undo hotel", "undo hotel", "undo hotel"),
        *("undo train", "undo train", "undo train"),
    ]
    critical = [entry for entry in logs if entry["log_level"] == "critical"]
    assert [(e["event"], e["effect"], e["error"]) for e in critical] == [
        ("compensation.failed", "book of step 2", "OSError: hotel does not answer")
    ]
    row = bench.row(thread)
    assert row.status is Status.ATTENTION
    assert row.status_reason == "Not undone: book of step 2 (OSError: hotel does not answer)"
    assert states(bench, thread) == {
        "train": "compensated", "hotel": "done", "museum": "compensated",
    }  # fmt: skip
    assert row.rollback is not None
    assert row.step == 3  # the head moves when all is undone, not before

    fails["hotel"] = 1
    bench.retry(thread)
    assert finish(bench, thread).status is Status.FAILED
    assert [c for c in calls if c.startswith("undo")][7:] == ["undo hotel", "undo hotel"]
    assert {name: len(used) for name, used in keys.items()} == {
        "train": 1, "hotel": 1, "museum": 1,
    }  # fmt: skip
    assert bench.kinds(thread).count("compensation.finished") == 3
    assert bench.row(thread).status_reason.endswith(
        " Undone: book of step 3, book of step 2, book of step 1."
    )
    assert bench.intact(thread)


def test_no_worker_is_held_between_two_tries(bench: HOUSES, monkeypatch: Any) -> None:
    monkeypatch.setattr(rollback, "PAUSES", (60.0,))
    fails["train"] = 1
    thread = bench.start(plan=["train", "fail"])
    bench.advance(thread)
    row = bench.advance(thread)
    assert (row.status, row.lease_owner) == (Status.ROLLING_BACK, "")
    assert row.wake_at is not None
    with pytest.raises(AssertionError):  # nobody gets it before its time
        bench.advance(thread)
    assert bench.events(thread)[-1].data["again_in"] == 60.0


def test_cancelling_with_undo_takes_back_and_ends(bench: HOUSES) -> None:
    thread = play(bench, "train", "letter", "hotel+ask", "museum")
    assert bench.row(thread).status is Status.WAITING
    bench.cancel(thread, undo=True)
    assert bench.row(thread).status is Status.ROLLING_BACK
    row = finish(bench, thread)
    assert calls == ["book train", "write letter", "book hotel", "undo hotel", "undo train"]
    assert (row.status, row.step, row.branch) == (Status.CANCELLED, 0, 1)
    assert row.status_reason == (
        "enough. Undone: book of step 3, book of step 1. "
        "Not undone: write of step 2 (cannot be undone)."
    )
    assert [a.status for a in bench.approvals(thread)] == ["withdrawn"]
    last = bench.events(thread)[-1]
    assert (last.kind, last.actor) == ("thread.cancelled", "user:1")
    assert bench.intact(thread)


def test_cancelling_with_undo_ends_at_once_where_nothing_was_done(bench: HOUSES) -> None:
    thread = play(bench, "letter", "ask")
    bench.cancel(thread, undo=True)
    row = bench.row(thread)
    assert (row.status, row.branch) == (Status.CANCELLED, 0)


def test_cancelling_without_undo_after_a_failed_undo_leaves_what_is_left(bench: HOUSES) -> None:
    fails["train"] = 9
    thread = play(bench, "train", "fail")
    assert bench.row(thread).status is Status.ATTENTION
    bench.cancel(thread)
    row = bench.row(thread)
    assert (row.status, row.rollback, states(bench, thread)) == (
        Status.CANCELLED, None, {"train": "done"},
    )  # fmt: skip


def test_what_may_have_happened_is_undone_only_when_a_person_wants_it(bench: HOUSES) -> None:
    journey.dies.add("hotel")
    results = []
    for unknown in (False, True):
        thread = bench.start(plan=["train", "hotel"])
        with pytest.raises(journey.WorkerLost):
            bench.advance(thread)
        assert states(bench, thread) == {"train": "done", "hotel": "started"}
        calls.clear()
        bench.cancel(thread, undo=True, unknown=unknown)
        row = finish(bench, thread)
        results.append((calls[:], states(bench, thread), row.status_reason))
        assert row.status is Status.CANCELLED
        assert bench.intact(thread)
    assert results == [
        (
            ["undo train"],
            {"train": "compensated", "hotel": "unknown"},
            "enough. Undone: book of step 1. "
            "Not undone: book of step 2 (nobody knows whether it happened).",
        ),
        (
            ["undo hotel", "undo train"],
            {"train": "compensated", "hotel": "compensated"},
            "enough. Undone: book of step 2, book of step 1.",
        ),
    ]


def test_a_fork_undoes_its_own_effects_and_not_those_of_its_base(bench: HOUSES) -> None:
    base = bench.start(plan=["train", "hotel+ask", "museum"])
    finish(bench, base)
    fork = bench.fork(base, 1, {"plan": ["train", "boat", "fail"]}, effects="run")
    row = finish(bench, fork)
    assert row.status is Status.FAILED
    assert [c for c in calls if c.startswith("undo")] == ["undo boat"]
    assert bench.state(fork)["done"] == ["train"]
    assert states(bench, base) == {"train": "done", "hotel": "done"}


def test_effects_of_a_branch_that_was_left_are_not_undone_again(bench: HOUSES) -> None:
    thread = play(bench, "train", "hotel", "ask")
    bench.roll_back(thread, 1)
    bench.edit(thread, {"plan": ["train", "boat", "fail"]}, "by sea")
    bench.resume(thread)
    assert finish(bench, thread).status is Status.FAILED
    assert [c for c in calls if c.startswith("undo")] == ["undo hotel", "undo boat", "undo train"]
    assert bench.intact(thread)


@pytest.mark.slow
@pytest.mark.requirement("C25")
@pytest.mark.parametrize("end", ["failed", "cancelled"])
def test_whenever_the_worker_dies_each_effect_is_undone_under_one_key(end: str) -> None:
    """The worker dies after its n-th write, for each n: another one goes on."""
    died = 0
    for n in range(1, 30):
        journey.forget()
        house = Harness(journey.graph, stop_after=n)
        thread = house.play(
            {"plan": ["train", "hotel+letter", "fail" if end == "failed" else "ask"]}
        )
        if end == "cancelled":
            thread.cancel("enough", undo=True)
        assert thread.status == end, n
        assert [e.state for e in thread.effects if e.args["name"] != "ask"] == [
            "compensated", "compensated", "done",
        ], n  # fmt: skip
        undone = [c for c in dict.fromkeys(calls) if c.startswith("undo")]
        assert undone == ["undo hotel", "undo train"], n
        assert {name: len(used) for name, used in keys.items()} == {"hotel": 1, "train": 1}, n
        kinds = [str(kind) for kind in thread.kinds]
        assert kinds.count("compensation.finished") == 2, n
        died += "lease.taken_over" in kinds
    assert died >= {"failed": 12, "cancelled": 8}[end]


def test_what_an_undo_returned_is_withheld_where_it_holds_a_credential(
    bench: HOUSES, monkeypatch: pytest.MonkeyPatch
) -> None:
    canary = "ghp_" + "C4n4ry" * 6
    called = rollback.result_of
    monkeypatch.setattr(rollback, "result_of", lambda call: (called(call), {"receipt": canary})[1])
    thread = play(bench, "train", "fail")
    assert calls == ["book train", "undo train"]
    [finished] = [e for e in bench.events(thread) if e.kind == "compensation.finished"]
    assert "a GitHub token at $.receipt" in finished.data["result"]["withheld"]
    assert states(bench, thread) == {"train": "compensated"}
    results = [a.undo_result for a in bench.activities(thread)]
    assert canary not in str(results) + str([e.data for e in bench.events(thread)])
    assert bench.intact(thread)
