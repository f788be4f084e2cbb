"""kill -9 in the middle of an undo, of a worker and of a process that runs a saga."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from uuid import UUID

import pytest

from checkpoints import queries, store
from checkpoints.chain import verify_thread
from tests.faults.bench import LEASE, ROOT, SHORT, SWEEP, Case, Field, Worker, wait_until

pytestmark = pytest.mark.hazard
GOES_ON = LEASE + SWEEP + 15
SAGA = """
import sys
from uuid import UUID
import django
django.setup()
from own_agents import saga_back
from gatepost.contrib.saga import SagaManager
folder, workspace = sys.argv[1:]
saga = SagaManager(workspace=UUID(workspace), title=folder)
for name in ("one", "two", "three"):
    saga.register_compensation(saga_back, folder, name)
saga.rollback()
"""


def undone(case: Case) -> dict[str, int]:
    return {name: len(case.calls(f"undo-{name}")) for name in ("three", "two", "one")}


@pytest.mark.requirement("C23")
@pytest.mark.requirement("C25")
def test_an_undo_goes_on_where_it_was_killed_and_fails_for_itself(
    field: Field, worker: Worker
) -> None:
    steps = ("deliver one", "deliver two", "deliver three", "break here")
    killed = field.play(*steps, agent="journey", hold=("in-undo-two",))
    broken = field.play(*steps, agent="journey", hold=("in-undo-three",))
    (broken.folder / "two.broken").touch()
    killed.wait_called("undo-two")  # three is taken back and recorded, two is in the middle
    os.kill(killed.holder(), signal.SIGKILL)
    killed.go("in-undo-two")
    broken.go("in-undo-three")

    row = killed.wait_status("failed", seconds=GOES_ON)
    assert undone(killed) == {"three": 1, "two": 2, "one": 1}
    assert len(set(killed.calls("undo-two"))) == 1
    assert [e.state for e in killed.effects()] == ["compensated"] * 3
    assert list(killed.folder.glob("*.parcel")) == []
    assert (row.step, row.branch) == (0, 1)
    assert row.status_reason.startswith("play: raised ValueError: here")

    # Tried again after its pauses by whichever worker is free, then the one before it happens.
    row = broken.wait_status("attention", seconds=GOES_ON)
    assert undone(broken)["two"] >= 3
    assert undone(broken)["one"] == 1
    assert row.status_reason == "Not undone: deliver of step 2 (OSError: two does not answer)"
    (broken.folder / "two.broken").unlink()
    store.retry(broken.id, actor="user:1")
    broken.wait_status("failed", seconds=GOES_ON)
    assert undone(broken)["one"] == 1
    assert len(set(broken.calls("undo-two"))) == 1
    assert [e.state for e in broken.effects()] == ["compensated"] * 3


@pytest.mark.requirement("C25")
def test_a_worker_finishes_the_rollback_of_a_saga_whose_process_was_killed(
    ground: Path, worker: Worker, workspace: UUID, tmp_path: Path
) -> None:
    here = Case(UUID(int=0), tmp_path, workspace)
    here.hold("in-undo-two")
    process = subprocess.Popen(
        [sys.executable, "-c", SAGA, str(tmp_path), str(workspace)],
        env=os.environ | SHORT | {"PYTHONPATH": f"{ROOT}{os.pathsep}{ground}"},
        cwd=ground,
    )
    try:
        here.wait_called("undo-two", seconds=GOES_ON)
    finally:
        process.kill()
        process.wait()
    here.go("in-undo-two")
    row = queries.threads(queries.Selection(agent="saga"), workspace=workspace).rows[0]
    case = Case(row.id, tmp_path, workspace)
    assert case.row().title == str(tmp_path)
    wait_until(lambda: case.row().status == "failed", seconds=GOES_ON, what=case.summary)
    assert undone(case) == {"three": 1, "two": 2, "one": 1}
    assert len(set(case.calls("undo-two"))) == 1
    assert set(case.callers("undo-two")) > {process.pid}
    assert case.callers("undo-one") != [process.pid]
    assert [e.state for e in case.effects()] == ["compensated"] * 3
    assert verify_thread(case.id).intact
