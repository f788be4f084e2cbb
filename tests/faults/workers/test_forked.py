"""A slot that takes the place of a lost one works; one that does not is replaced itself."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path

import pytest

from tests.faults.bench import SHORT, Field, Worker, workers

pytestmark = [pytest.mark.nightly, pytest.mark.hazard]
GOES_ON = 20
# Notes what is looked for on the import path, by which thread of which process.
NOTING = """
import os, sys, threading
class Noting:
    def find_spec(self, name, path=None, target=None):
        with open(os.environ["IMPORTS_NOTED"], "a") as file:
            file.write(f"{os.getpid()} {threading.current_thread().name} {name}\\n")
sys.meta_path.insert(0, Noting())
from own_agents import *
"""
# Whoever takes a thread first stands still before there is a lease.
STANDING_STILL = """
import os, time, workers.slot.loop
taking = workers.slot.loop.take
def take(*args, **named):
    try:
        os.unlink(os.environ["STAND_STILL"])
    except FileNotFoundError:
        return taking(*args, **named)
    time.sleep(600)
workers.slot.loop.take = take
from own_agents import *
"""


def noted(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


def test_nothing_is_imported_by_a_worker_that_has_begun(
    ground: Path, field: Field, tmp_path: Path
) -> None:
    """A module that the main process imports while it forks can never be imported by the child."""
    (ground / "noting_agents.py").write_text(NOTING)
    file = tmp_path / "imports.txt"
    worker = Worker(
        ground,
        "noting",
        slots=2,
        # Celery may need 5 s to see that a process is gone: so long the lease has to hold.
        settings=SHORT | {"GATEPOST_LEASE_SECONDS": "15"},
        environment={
            "GATEPOST_AGENTS": "noting_agents",
            "HAZARD_QUEUE": "noting",
            "IMPORTS_NOTED": str(file),
        },
    )
    with workers(worker):
        assert noted(file)  # it does note
        before = len(noted(file))
        case = field.play(
            *("look first, deliver parcel", "ask parcel", "look a"),
            agent="script-noting",
            hold=("in-first",),
        )
        case.wait_called("first")
        os.kill(case.holder(), signal.SIGKILL)
        case.wait_event("step.failed")  # the main process has written what it knows
        case.go("in-first")
        case.wait_status("waiting", seconds=GOES_ON)
        case.decide("approve")
        case.wait_status("succeeded", seconds=GOES_ON)
        assert noted(file)[before:] == []


def test_a_slot_that_stands_still_before_it_has_a_lease_is_replaced(
    ground: Path, field: Field, tmp_path: Path
) -> None:
    (ground / "standing_agents.py").write_text(STANDING_STILL)
    worker = Worker(
        ground,
        "still",
        slots=1,
        environment={
            "GATEPOST_AGENTS": "standing_agents",
            "HAZARD_QUEUE": "still",
            "STAND_STILL": str(tmp_path / "still"),
        },
    )
    with workers(worker):
        (tmp_path / "still").touch()
        (slot,) = worker.slots()
        case = field.play("look a", agent="script-still")
        case.wait_status("succeeded", seconds=GOES_ON)
        assert case.row().crash_count == 0  # it never had the thread
        assert worker.slots() != [slot]
    assert re.search(rf"slot\.stuck .*pid={slot}\b", worker.log.read_text())
