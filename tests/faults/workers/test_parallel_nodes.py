"""Nodes that work at the same time in a real slot: their time, kill -9 among them, and one hung."""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from checkpoints import queries, store
from tests.faults.bench import (
    AGENTS,
    LEASE,
    SWEEP,
    Case,
    Field,
    Worker,
    wait_until,
    workers,
)

pytestmark = pytest.mark.hazard
NAMES = ("one", "two", "three", "four")
LIMIT = 1.5  # of "four", in beside_agents
SETTINGS = {"GATEPOST_AGENTS": "beside_agents", "GATEPOST_GUARD": "false"}
GOES_ON = LEASE + SWEEP + 60


@pytest.fixture(scope="module")
def home(ground: Path) -> Path:
    shutil.copy(AGENTS / "beside_agents.py", ground)
    return ground


@pytest.fixture(scope="module")
def slots(home: Path) -> Iterator[Worker]:
    made = Worker(home, "together", slots=2, queues="together", environment=SETTINGS)
    with workers(made) as (worker,):
        yield worker


@pytest.fixture(scope="module")
def threaded(home: Path) -> Iterator[Worker]:
    """A worker whose slots are threads of one process."""
    environment = SETTINGS | {"HAZARD_POOL": "threads"}
    made = Worker(
        *(home, "strings"), slots=2, pool="threads", queues="strings", environment=environment
    )
    with workers(made) as (worker,):
        yield worker


def saved(case: Case) -> set[str]:
    """The nodes of the second step that are recorded as finished."""
    rows = queries.activities(case.id)
    return {a.tool for a in rows if a.kind == "node" and a.state == "done"}


def called(case: Case) -> dict[str, int]:
    return {name: len(case.callers(name)) for name in NAMES}


@pytest.mark.requirement("C07")
def test_nodes_of_a_second_each_take_a_second_together(field: Field, slots: Worker) -> None:
    case = field.start("beside-each-other", seconds=1.0)
    case.wait_status("succeeded")
    begun, ended = (e.at for e in case.events() if e.kind == "checkpoint.committed")
    assert 1.0 <= (ended - begun).total_seconds() < 1.6
    assert case.state()["seen"] == list(NAMES)


@pytest.mark.requirement("C07")
@pytest.mark.parametrize("held", ["one", "three"])
def test_a_finished_node_is_not_repeated_after_a_kill(
    field: Field, slots: Worker, held: str
) -> None:
    case = field.start("beside-each-other", holds=(held,))
    others = set(NAMES) - {held}
    case.wait_called(held)
    wait_until(lambda: saved(case) == others, what=case.summary)
    os.kill(case.holder(), signal.SIGKILL)
    case.go(held)
    case.wait_status("succeeded", seconds=GOES_ON)
    assert called(case) == dict.fromkeys(others, 1) | {held: 2}
    assert case.state()["seen"] == list(NAMES)
    assert "lease.taken_over" in case.kinds()


@pytest.mark.requirement("C07")
@pytest.mark.parametrize("pool", ["prefork", "threads"])
def test_a_hung_node_is_ended_without_the_others(
    field: Field, slots: Worker, threaded: Worker, pool: str
) -> None:
    """`four` is past its limit while `one`, within its own, still works: `one` is not lost."""
    agent = "beside-each-other" + ("-threads" if pool == "threads" else "")
    case = field.start(agent, holds=("four", "one"))
    case.wait_called("four")
    time.sleep(2 * LIMIT)
    assert "step.failed" not in case.kinds()
    case.go("one")
    case.wait_event("step.failed", seconds=GOES_ON)
    (lost,) = [e.data for e in case.events() if e.kind == "step.failed"]
    assert (lost["node"], lost["lost"]) == ("four", True)
    assert saved(case) == set(NAMES) - {"four"}
    case.wait_called("four", 2, seconds=GOES_ON)
    case.go("four")
    case.wait_status("succeeded", seconds=GOES_ON)
    assert called(case) == {"one": 1, "two": 1, "three": 1, "four": 2}
    assert case.state()["seen"] == list(NAMES)


def test_nodes_at_work_write_nothing_after_a_cancel(field: Field, slots: Worker) -> None:
    case = field.start("beside-each-other", holds=("one", "three"))
    case.wait_called("one")
    case.wait_called("three")
    wait_until(lambda: saved(case) == {"two", "four"}, what=case.summary)
    store.cancel(case.id, actor="user:1", reason="no more")
    case.go("one")
    case.go("three")
    case.wait_event("step.fenced")
    assert case.row().status == "cancelled"
    assert saved(case) == {"two", "four"}
    assert case.state()["seen"] == []
