"""Trees of agents in several worker processes, killed at any place: each child once, sums right."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pytest

from tests.faults import invariants
from tests.faults.bench import AGENTS, LEASE, SWEEP, Case, Field, Worker, ask, workers

pytestmark = pytest.mark.hazard
GOES_ON = 2 * (LEASE + SWEEP) + 15
FILES = [f"file-{n}" for n in range(10)]
BAD = ["file-2", "file-5", "file-9"]


@pytest.fixture(scope="module")
def fleet(ground: Path) -> Iterator[tuple[Worker, ...]]:
    """Two workers of two slots."""
    shutil.copy(AGENTS / "tree_agents.py", ground)
    environment = {"GATEPOST_AGENTS": "tree_agents"}
    made = [Worker(ground, f"tree-{n}", slots=2, environment=environment) for n in (1, 2)]
    with workers(*made) as started:
        yield started


def children(case: Case) -> list[Case]:
    """The threads that a thread started."""
    rows = ask("SELECT child_id FROM gp_child WHERE parent = %s ORDER BY ordinal", case.id)
    return [Case(UUID(str(child)), case.folder, case.workspace) for (child,) in rows]


def check_tree(case: Case, *, at_most: int | None = None) -> None:
    """Ten were started, once each; seven are combined, three listed; every record holds."""
    case.wait_status("succeeded", seconds=GOES_ON + 20)
    state = case.state()
    assert state["texts"] == [file.upper() for file in FILES if file not in BAD]
    assert [reason.split("'")[0] for reason in state["listed"]]
    assert len(state["listed"]) == len(BAD)
    assert all("cannot be read" in reason for reason in state["listed"])
    family = children(case)
    assert len(family) == 10
    ((n,),) = ask("SELECT count(*) FROM gp_thread WHERE root = %s", case.id)
    assert n == 10
    for child in family:
        invariants.check(child)
    assert case.kinds().count("child.joined") == 1


@pytest.mark.requirement("B35")
@pytest.mark.requirement("B36")
@pytest.mark.parametrize("at_most", [None, 4], ids=["all-at-once", "four-at-a-time"])
def test_ten_on_ten_files_in_two_workers(
    field: Field, fleet: tuple[Worker, ...], at_most: int | None
) -> None:
    case = field.start("tree-lead", files=FILES, bad=BAD, at_most=at_most)
    check_tree(case)
    pids = set(case.callers("read"))
    homes = [worker for worker in fleet if pids & set(worker.slots())]
    assert len(homes) == 2, "both workers took part"
    assert sorted(set(case.calls("read"))) == FILES


@pytest.mark.nightly
@pytest.mark.parametrize("activity", ["plan", "joined"])
def test_a_killed_parent_starts_nobody_twice(
    field: Field, fleet: tuple[Worker, ...], activity: str
) -> None:
    case = field.start("tree-lead", (f"in-{activity}",), files=FILES, bad=BAD, at_most=4)
    case.wait_called(activity)
    os.kill(case.holder(), signal.SIGKILL)
    case.go(f"in-{activity}")
    check_tree(case)
    assert case.kinds().count("lease.taken_over") == 1


@pytest.mark.nightly
def test_a_killed_child_goes_on_and_its_parent_waits(
    field: Field, fleet: tuple[Worker, ...]
) -> None:
    case = field.start("tree-lead", ("in-file-4",), files=FILES, bad=BAD, at_most=4)
    case.wait_event("child.started")
    (victim,) = [child for child in children(case) if child.id == children(case)[4].id]
    victim.wait_status("running", seconds=20)
    os.kill(victim.holder(), signal.SIGKILL)
    case.go("in-file-4")
    check_tree(case)
    assert victim.kinds().count("lease.taken_over") == 1


@pytest.mark.nightly
def test_all_workers_are_killed_while_children_read(
    field: Field, ground: Path, fleet: tuple[Worker, ...]
) -> None:
    case = field.start("tree-lead", ("in-read",), files=FILES, bad=BAD, at_most=4)
    case.wait_called("read", 4)
    for worker in fleet:
        for pid in worker.slots():
            os.kill(pid, signal.SIGKILL)
    case.go("in-read")
    check_tree(case)


def successor(case: Case) -> Case:
    """The thread that a thread handed over to."""
    (event,) = [event for event in case.events() if event.kind == "thread.handed_off"]
    return Case(UUID(event.data["thread"]), case.folder, case.workspace)


@pytest.mark.requirement("B34")
@pytest.mark.parametrize("activity", ["write", "polish"])
def test_a_killed_writer_goes_on_and_the_researcher_does_not(
    field: Field, fleet: tuple[Worker, ...], activity: str
) -> None:
    case = field.start("tree-researcher", (f"in-{activity}",), goal="tea")
    case.wait_called(activity)
    heir = successor(case)
    os.kill(heir.holder(), signal.SIGKILL)
    case.go(f"in-{activity}")
    heir.wait_status("succeeded", seconds=GOES_ON)
    assert heir.state()["text"] == "polish research"
    assert heir.kinds().count("lease.taken_over") == 1
    assert len(case.calls("research")) == 1
    assert len(case.calls("write")) == (2 if activity == "write" else 1)
    assert case.row().status == "succeeded"
    invariants.check(heir)


@pytest.mark.nightly
def test_a_researcher_killed_while_it_hands_over_does_so_once(
    field: Field, fleet: tuple[Worker, ...]
) -> None:
    case = field.start("tree-researcher", ("in-passing",), goal="tea")
    case.wait_called("passing")
    os.kill(case.holder(), signal.SIGKILL)
    case.go("in-passing")
    case.wait_status("succeeded", seconds=GOES_ON)
    heir = successor(case)
    heir.wait_status("succeeded", seconds=GOES_ON)
    ((n,),) = ask("SELECT count(*) FROM gp_thread WHERE base = %s", case.id)
    assert n == 1
    assert len(case.calls("research")) == 1
