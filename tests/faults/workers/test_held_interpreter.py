"""A step that holds the interpreter: processes keep it to its own slot, threads do not.

This is why slots are processes unless somebody chooses threads.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.faults.bench import AGENTS, Case, Field, Worker, wait_until, workers

pytestmark = [pytest.mark.nightly, pytest.mark.hazard]
LONG = 120


def worker_of(folder: Path, name: str, *queues: str, pool: str, of: str) -> Worker:
    """A worker of two slots; `of` is the pool whose agents it has."""
    environment = {"GATEPOST_AGENTS": "busy_agents", "HAZARD_POOL": of}
    return Worker(
        folder, name, slots=2, pool=pool, queues=",".join(queues), environment=environment
    )


def waiting_in(field: Field, pool: str) -> Case:
    """A thread that waits in its activity until it is let go."""
    case = field.start(f"waiting-{pool}", holds=("wait",))
    case.wait_called("wait")
    return case


def ended_well(case: Case) -> None:
    case.go("wait")
    case.wait_status("succeeded", seconds=LONG)
    assert case.state()["answer"] == "waited"
    assert case.kinds().count("checkpoint.committed") == 1, case.kinds()


def test_in_a_pool_of_processes_a_neighbour_keeps_its_lease(field: Field, ground: Path) -> None:
    shutil.copy(AGENTS / "busy_agents.py", ground)
    queues = ("busy-prefork", "waiting-prefork")
    with workers(worker_of(ground, "processes", *queues, pool="prefork", of="prefork")):
        neighbour = waiting_in(field, "prefork")
        busy = field.start("busy-prefork")
        # Its slot is ended twice; a third time it is not tried.
        busy.wait_status("attention", seconds=LONG)
        assert len(busy.calls("busy")) == 2
        assert neighbour.row().status == "running"
        ended_well(neighbour)
        assert neighbour.kinds().count("lease.acquired") == 1
        assert "lease.taken_over" not in neighbour.kinds()
        assert len(neighbour.calls("wait")) == 1


def test_in_a_pool_of_threads_a_neighbour_loses_its_lease_and_nothing_else(
    field: Field, ground: Path
) -> None:
    """Another worker takes the neighbour over; what it does is committed once."""
    shutil.copy(AGENTS / "busy_agents.py", ground)
    queues = ("busy-threads", "waiting-threads")
    with workers(worker_of(ground, "strings-held", *queues, pool="threads", of="threads")) as (
        held,
    ):
        neighbour = waiting_in(field, "threads")
        with workers(
            worker_of(ground, "helping", "waiting-threads", pool="prefork", of="threads")
        ) as (helping,):
            busy = field.start("busy-threads")
            busy.wait_called("busy")
            neighbour.wait_called("wait", 2, seconds=LONG)
            callers = neighbour.callers("wait")
            assert callers[0] == held.pid
            assert callers[1] in helping.slots()
            ended_well(neighbour)
            assert neighbour.kinds().count("lease.taken_over") >= 1
        held.kill()
        with workers(worker_of(ground, "again", "busy-threads", pool="prefork", of="threads")):
            wait_until(lambda: busy.row().status == "attention", seconds=LONG, what=busy.summary)
