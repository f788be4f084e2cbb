"""Several gates of one step: each is decided by its own id, in any order; siblings go on."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from typing import Any
from uuid import UUID

import pytest

from approvals.queries import ApprovalRow
from checkpoints.states import EventKind, Status
from tests.unit.workers.graphs import several
from tests.unit.workers.graphs.effects.gated import AnyBench, decided, requests, told_in
from workers.testing.harness import Approve, Harness, Reject


@pytest.fixture
def bench(make_bench: Callable[[Any], AnyBench]) -> AnyBench:
    several.sent.clear()
    several.meanwhile.clear()
    return make_bench(several)


def opened(bench: AnyBench) -> tuple[UUID, dict[str, ApprovalRow]]:
    thread = bench.start()
    assert bench.advance(thread).status is Status.WAITING
    results = {a.title[5]: a for a in requests(bench, thread)}
    assert [*results] == ["a", "b", "c"], "all of them at once, in the order of the graph"
    return thread, results


def test_siblings_go_on_to_the_end_of_the_step(bench: AnyBench) -> None:
    thread, result = opened(bench)
    assert {a.status for a in result.values()} == {"pending"}
    done = [a.tool for a in bench.activities(thread) if a.kind == "node"]
    assert done == ["free"]
    assert bench.kinds(thread).count(EventKind.THREAD_SUSPENDED) == 1


@pytest.mark.parametrize("order", list(permutations("abc")))
def test_each_is_decided_by_its_own_id_in_any_order(bench: AnyBench, order: str) -> None:
    thread, result = opened(bench)
    for n, letter in enumerate(order):
        if letter == "b":
            more = {"outcome": "reject", "comment": "heavy"}
            decided(bench, thread, result["b"], **more)
        else:
            decided(bench, thread, result[letter])
        last = n == 2
        row = bench.advance(thread)
        assert row.status is (Status.SUCCEEDED if last else Status.WAITING)
        assert set(several.sent) == set(order[: n + 1]) - {"b"}
    assert bench.state(thread)["done"] == ["a", "not b: heavy", "c"], "in the order of the graph"
    assert sorted(several.sent) == ["a", "c"]
    assert len(told_in(bench, thread, EventKind.APPROVAL_REQUESTED)) == 3
    looked = [a for a in bench.activities(thread) if a.tool == "look"]
    assert [a.attempts for a in looked] == [1, 1, 1, 1]
    assert bench.intact(thread)


def test_a_decision_while_a_sibling_works_is_not_slept_over(
    bench: AnyBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the sibling records sees the news; the thread must not wait for what is decided."""
    # In turns: the decision belongs to this test's transaction, so to its thread.
    monkeypatch.setattr(several.graph, "nodes_at_once", 1)
    thread, result = opened(bench)
    several.meanwhile.append(lambda: decided(bench, thread, result["b"]))
    decided(bench, thread, result["a"])
    row = bench.advance(thread)
    assert several.sent == ["a", "b"]
    assert row.status is Status.WAITING
    assert row.waiting_on is not None
    decided(bench, thread, result["c"])
    assert bench.advance(thread).status is Status.SUCCEEDED
    assert several.sent == ["a", "b", "c"]


def test_what_it_waits_for_names_all_that_is_open(bench: AnyBench) -> None:
    thread, result = opened(bench)
    decided(bench, thread, result["a"])
    payload = bench.advance(thread).waiting_on
    assert "Send b?" in str(payload)
    assert "Send c?" in str(payload)
    assert "Send a?" not in str(payload)


def test_in_a_play_each_is_decided_by_its_title() -> None:
    several.sent.clear()
    thread = Harness(several.graph).play(
        decide={"Send a?": "approve", "Send b?": Reject("heavy"), "Send c?": Approve("go")}
    )
    assert thread.state["done"] == ["a", "not b: heavy", "c"]
    thread = Harness(several.graph).play()
    for which in ("Send c?", "Send a?", "Send b?"):
        assert thread.status == "waiting"
        thread.decide("approve", which)
    assert thread.state["done"] == ["a", "b", "c"]
