"""Upgrades that misbehave: the thread waits for a person as it was, and its slot is not lost."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from checkpoints.state.schema import Upgrades
from checkpoints.states import EventKind, Status
from tests.unit.workers.conftest import Bench
from tests.unit.workers.graphs import samples
from workers.authoring import time_limits

from .test_upgrades import CALLS, bench_of_version, to_second, to_third, upgrades

pytestmark = pytest.mark.requirement("B39")


@pytest.fixture
def bench(make_bench: Any) -> Bench:
    CALLS.clear()
    made: Bench = make_bench(samples)
    return made


def waiting(bench: Bench, tmp_path: Path) -> Any:
    bench_of_version(bench, 1)
    thread = bench.start(folder=str(tmp_path))
    assert bench.advance(thread).status is Status.WAITING
    return thread


def raising(error: BaseException) -> Callable[[Any], Any]:
    def upgrade(state: dict[str, Any]) -> dict[str, Any]:
        raise error

    return upgrade


def larger(state: dict[str, Any]) -> dict[str, Any]:
    return {"folder": state["folder"], "lines": ["x" * 9_000_000], "count": 1, "out": ""}


def writes(state: dict[str, Any]) -> dict[str, Any]:
    Path(state["folder"], "upgraded.txt").write_text("once more")
    return to_second(state)


def swallows(state: dict[str, Any]) -> dict[str, Any]:
    try:
        os.system("true")
    except BaseException:
        pass
    return to_second(state)


def leaves(state: dict[str, Any]) -> dict[str, Any]:
    sys.exit(3)


FAULTS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "raises": (raising(KeyError("tea")), "KeyError: 'tea'"),
    "no text for a database": (raising(ValueError("a\0b\ud800")), r"a\x00b\ud800"),
    "a long story": (raising(ValueError("tea " * 1_000_000)), "tea tea"),
    "deep": (lambda s: to_second(s) | {"out": eval("[" * 90 + "]" * 90)}, "does not fit"),
    "recursion": (lambda s: FAULTS["recursion"][0](s), "RecursionError"),
    "no dict": (lambda s: [s], "whole state"),
    "nothing": (lambda s: None, "whole state"),
    "no JSON": (lambda s: to_second(s) | {"lines": {"a"}}, "$.lines: set is not a JSON type"),
    "no number": (lambda s: to_second(s) | {"count": float("nan")}, "$.count: NaN"),
    "a large number": (lambda s: to_second(s) | {"count": 2**60}, "$.count: an integer beyond"),
    "too much": (larger, "at most 8,388,608 are taken"),
    "leaves the process": (leaves, "ended the process with sys.exit(3)"),
    "writes a file": (writes, "test_upgrade_faults.py, line"),
    "begins a process": (swallows, "test_upgrade_faults.py, line"),
}


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_an_upgrade_that_misbehaves_leaves_the_thread_as_it_was(
    bench: Bench, tmp_path: Path, fault: str
) -> None:
    thread = waiting(bench, tmp_path)
    before, calls, request = bench.row(thread), list(CALLS), bench.open(thread)
    bench.decide(thread, "approve", "fine")
    upgrades, (function, says) = Upgrades(), FAULTS[fault]
    upgrades.step(1)(function)
    bench_of_version(bench, 2, upgrades=upgrades, on_code_change="go_on")
    row = bench.advance(thread)
    assert row.status is Status.ATTENTION, row.status_reason
    assert says in row.status_reason
    assert "schema" in row.status_reason
    assert len(row.status_reason) < 3_000
    assert row.head == before.head
    assert row.agent_version_id == before.agent_version_id, "other code is not taken over for it"
    assert EventKind.CODE_CHANGED not in bench.kinds(thread)
    assert calls == CALLS
    assert list(tmp_path.iterdir()) == []
    # The former code goes on as if nothing had been: nobody is asked again.
    bench_of_version(bench, 1)
    bench.retry(thread)
    assert bench.advance(thread).status is Status.SUCCEEDED
    assert [*calls, "write"] == CALLS
    (approval,) = bench.approvals(thread)
    assert approval.id == request.id
    assert bench.intact(thread)


def test_a_gap_on_the_way_is_no_guess(bench: Bench, tmp_path: Path) -> None:
    thread = waiting(bench, tmp_path)
    upgrades = Upgrades()
    upgrades.step(2)(to_third)
    bench.decide(thread, "approve", "fine")
    bench_of_version(bench, 3, upgrades=upgrades, on_code_change="go_on")
    row = bench.advance(thread)
    assert row.status is Status.ATTENTION
    assert "No upgrade from schema 1 to 2 is registered" in row.status_reason
    upgrades.step(1)(to_second)
    bench.retry(thread)
    assert bench.advance(thread).status is Status.SUCCEEDED


def test_an_upgrade_is_watched_like_a_node(bench: Bench, tmp_path: Path) -> None:
    """One that never comes back is past the limit of a step, whose slot then ends."""
    thread = waiting(bench, tmp_path)
    bench.decide(thread, "approve", "fine")
    upgrades = Upgrades()
    seen: list[Any] = []

    @upgrades.step(1)
    def slow(state: dict[str, Any]) -> dict[str, Any]:
        ((token, _),) = time_limits._at_work
        time.sleep(0.02)
        seen.append(time_limits.past(UUID(int=token), 0.01))
        return to_second(state)

    bench_of_version(bench, 2, upgrades=upgrades)
    assert bench.advance(thread).status is Status.SUCCEEDED
    assert seen == [("upgrade to schema 2", 0.01)]


@pytest.mark.parametrize("verdict", ["reject", "edit", "respond"])
def test_an_open_approval_is_decided_otherwise_behind_an_upgrade(
    bench: Bench, tmp_path: Path, verdict: str
) -> None:
    thread = waiting(bench, tmp_path)
    request, calls = bench.open(thread), list(CALLS)
    bench_of_version(bench, 3, upgrades=upgrades)
    # The new code has looked at the thread while its approval is open.
    bench.pause(thread)
    bench.resume(thread)
    assert bench.advance(thread).status is Status.WAITING
    assert [c.schema_version for c in bench.checkpoints(thread) if c.source == "upgrade"] == [3]
    assert bench.open(thread).proposal_hash == request.proposal_hash
    more = {"args": {"folder": str(tmp_path), "text": "COFFEE"}} if verdict == "edit" else {}
    bench.decide(thread, verdict, "so", **more)
    row = bench.advance(thread)
    if verdict == "edit":
        assert row.status is Status.SUCCEEDED
        assert (tmp_path / "note.txt").read_text() == "COFFEE"
        assert [*calls, "write"] == CALLS
    else:
        expected = Status.FAILED if verdict == "reject" else Status.WAITING
        assert row.status is expected, row.status_reason
        assert calls == CALLS
        assert list(tmp_path.iterdir()) == []
    assert bench.intact(thread)
