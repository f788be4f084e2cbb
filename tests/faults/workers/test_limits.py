"""Steps that end their process, hang, spin or eat memory: each costs its own thread alone."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from checkpoints import store
from tests.faults.bench import AGENTS, Case, Field, Worker, wait_until, workers

pytestmark = [pytest.mark.nightly, pytest.mark.hazard]
LONG = 120
# Long leases: a step that is known to be lost does not wait for their end.
PATIENT = {"GATEPOST_LEASE_SECONDS": "15", "GATEPOST_SWEEP_SECONDS": "0.25"}
SETTINGS = {"GATEPOST_AGENTS": "limit_agents", "GATEPOST_SLOT_MEMORY_MB": "2000"}
# How it does harm, and what people read of it.
HARMS = {
    "exit": "at 'do' it ended its process with exit code 1 each time",
    "segv": "at 'do' it lost its process to SIGSEGV each time",
    "sleep": "at 'do' it went past its limit of 2 s each time",
    "spin": "at 'do' it went past its limit of 2 s each time",
    "stubborn": "at 'do' it went past its limit of 2 s each time",
    "eat": "at 'do' it needed more memory than a slot may have (2000 MB) each time",
}


@pytest.fixture(scope="module")
def home(ground: Path) -> Path:
    shutil.copy(AGENTS / "limit_agents.py", ground)
    return ground


@pytest.fixture(scope="module")
def slots(home: Path) -> Iterator[Worker]:
    """Three processes, each of which may take 2000 MB."""
    with workers(
        Worker(home, "limits", slots=3, queues="limits", environment=SETTINGS, settings=PATIENT)
    ) as (worker,):
        yield worker


def parked(case: Case) -> str:
    row = case.wait_status("attention", seconds=LONG)
    kinds = case.kinds()
    assert kinds.count("lease.acquired") + kinds.count("lease.taken_over") == 3, kinds
    assert row.crash_count == 3
    assert [len(case.calls(n)) for n in ("begin", "beside", "strike", "end")] == [1, 1, 3, 0]
    return row.status_reason


def test_harm_parks_its_own_thread_after_three_and_no_other(field: Field, slots: Worker) -> None:
    cases = {how: field.start("harm", how=how) for how in HARMS}
    others = [field.start("beside") for _ in range(20)]
    for other in others:
        other.wait_status("succeeded", seconds=LONG)
    for how, cause in HARMS.items():
        reason = parked(cases[how])
        assert reason == (
            f"The worker was lost 3 times in a row at this step: {cause}. "
            "Look at the last events, then retry, edit or roll back."
        )
        lost = [e.data for e in cases[how].events() if e.kind == "step.failed"]
        assert [(d["node"], d["step"], d["lost"]) for d in lost] == [("do", 2, True)] * 3
    assert sum(other.row().crash_count == 0 for other in others) == 20
    assert not any("lease.taken_over" in other.kinds() for other in others)

    # Every slot is there again, and a click goes on once the cause is gone.
    wait_until(lambda: len(slots.slots()) == 3, what=slots.slots)
    for case in cases.values():
        (case.folder / "mended").touch()
        store.retry(case.id, actor="user:1")
    for case in cases.values():
        wait_until(lambda c=case: c.row().status == "succeeded", seconds=LONG, what=case.summary)
        assert case.row().crash_count == 0
        assert len(case.calls("begin")) == len(case.calls("beside")) == 1


def test_a_step_that_holds_the_interpreter_loses_its_slot(field: Field, home: Path) -> None:
    """Without a heartbeat it cannot end its process either; the main process does."""
    environment = SETTINGS | {"HAZARD_QUEUE": "held"}
    with workers(Worker(home, "held", slots=3, queues="held", environment=environment)) as (slots,):
        held(field, slots)


def held(field: Field, slots: Worker) -> None:
    before = set(slots.slots())
    case = field.start("harm-held", how="hold")
    others = [field.start("beside-held") for _ in range(6)]
    reason = parked(case)
    assert "The worker was lost 3 times in a row at this step" in reason
    assert len(set(case.callers("strike"))) == 3
    for other in others:
        other.wait_status("succeeded", seconds=LONG)
    wait_until(
        lambda: len(slots.slots()) == 3 and not set(case.callers("strike")) & set(slots.slots()),
        seconds=LONG,
        what=slots.log.read_text,
    )
    assert before & set(case.callers("strike"))
    last = field.start("beside-held")
    last.wait_status("succeeded", seconds=LONG)


def test_in_a_pool_of_threads_it_is_left_behind(field: Field, home: Path) -> None:
    environment = SETTINGS | {"HAZARD_QUEUE": "strings"}
    made = Worker(
        home, "strings", slots=2, pool="threads", queues="strings", environment=environment
    )
    with workers(made) as (worker,):
        case = field.start("harm-strings", how="sleep")
        others = [field.start("beside-strings") for _ in range(6)]
        assert HARMS["sleep"] in parked(case)
        for other in others:
            other.wait_status("succeeded", seconds=LONG)
        # More of them hang than there were slots, and the worker works on.
        assert set(case.callers("strike")) == {worker.pid}
        last = field.start("beside-strings")
        last.wait_status("succeeded", seconds=LONG)
        assert worker.alive
