"""A model with tools in a real slot: kill -9 among its calls, approvals one by one."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from approvals import gates
from approvals import queries as approval_queries
from checkpoints import queries
from tests.faults.bench import AGENTS, LEASE, SWEEP, Case, Field, Worker, wait_until, workers
from tests.support.reviewers import reviewer_in

pytestmark = pytest.mark.hazard
SETTINGS = {"GATEPOST_AGENTS": "react_agents"}
GOES_ON = LEASE + SWEEP + 60


@pytest.fixture(scope="module")
def slots(ground: Path) -> Iterator[Worker]:
    shutil.copy(AGENTS / "react_agents.py", ground)
    made = Worker(ground, "reacts", slots=2, queues="reacts", environment=SETTINGS)
    with workers(made) as (worker,):
        yield worker


def begin(field: Field, *holds: str) -> Case:
    folder = field.folder / f"case-{len(field.cases) + 1}"
    return field.start("loop", holds=holds, goal=str(folder))


def decide(case: Case, name: str, verdict: str) -> None:
    """Decide on the delivery of that name."""
    rows = approval_queries.for_thread(case.id, open_only=True)
    (row,) = [a for a in rows if a.args["name"] == name]
    gates.decide(
        row.id,
        workspace=case.workspace,
        reviewer=reviewer_in(case.workspace),
        verdict=verdict,
        proposal_hash=row.proposal_hash,
        comment="no" if verdict == "reject" else "",
    )


def recorded(case: Case) -> set[str]:
    """What was looked up and is on record."""
    rows = queries.activities(case.id)
    return {a.args["kwargs"]["name"] for a in rows if a.tool == "look" and a.state == "done"}


def kill_holder(case: Case) -> None:
    os.kill(case.holder(), signal.SIGKILL)


def check_end(case: Case, *, repeated: str) -> None:
    """Everything happened once, but for what was at work when its worker was killed."""
    case.wait_status("succeeded", seconds=GOES_ON)
    parts = case.state()["answer"].split(" | ")
    assert [p for p in parts if p.startswith("did")] == [
        "did a",
        "did b",
        "did x",
        "did z",
        "did c",
    ]
    assert [p for p in parts if p.startswith("Rejected by")]
    for name in ("a", "b", "c", "x", "z", "model-0", "model-1", "model-2"):
        assert len(case.calls(name)) == (2 if name == repeated else 1), name
    assert case.calls("y") == []
    assert len(set(case.calls("x"))) == len(set(case.calls("z"))) == 1
    assert case.row().tokens == 30
    assert case.state()["tokens"] == 30


@pytest.mark.requirement("C36")
@pytest.mark.parametrize("held", ["model-0", "a", "x", "model-1", "c"])
def test_a_kill_at_any_call_repeats_only_that_call(field: Field, slots: Worker, held: str) -> None:
    """Three deliveries wait for people: two are approved one after the other, one is rejected."""
    case = begin(field, held)
    if held in ("model-0", "a"):
        case.wait_called(held)
        if held == "a":
            wait_until(lambda: "b" in recorded(case), what=case.summary)
        kill_holder(case)
        case.go(held)
    case.wait_status("waiting", seconds=GOES_ON)
    assert len(approval_queries.for_thread(case.id, open_only=True)) == 3
    decide(case, "z", "approve")
    wait_until(lambda: len(case.calls("z")) == 1, what=case.summary)
    case.wait_status("waiting", seconds=GOES_ON)
    decide(case, "y", "reject")
    case.wait_status("waiting", seconds=GOES_ON)
    decide(case, "x", "approve")
    if held in ("x", "model-1", "c"):
        case.wait_called(held)
        kill_holder(case)
        case.go(held)
    check_end(case, repeated=held)
