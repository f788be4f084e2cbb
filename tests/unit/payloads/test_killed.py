"""kill -9 between the writes of content, file, row and folder: a checkpoint is whole or not there.

Each lease is a process of its own that is really killed; another one goes on afterwards.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.files.storage import default_storage

from approvals import gates
from approvals import queries as approval_queries
from approvals.verification.proof import verify
from checkpoints import queries, store
from checkpoints.capsules import folder as folders
from checkpoints.capsules import layout
from checkpoints.states import Status
from checkpoints.views import ThreadRow
from tests.faults.bench import wait_until
from tests.faults.embedded.helpers import ROOT
from tests.support.reviewers import reviewer_in
from tests.unit.checkpoints.builders import expire, make_workspace
from workers.code.registry import load
from workers.slot import loop

from . import binder
from .lease import work_on

pytestmark = [pytest.mark.hazard, pytest.mark.requirement("B19"), pytest.mark.requirement("B37")]

MODULE = "tests.unit.payloads.binder"
# Where it dies, and the number of the checkpoint that stands afterwards.
IN_A_STEP = {
    "the file of an artifact is written, not named": 1,
    "the file of an artifact lies there, no row": 1,
    "the artifact has its row, no checkpoint": 1,
    "the content is written, not named": 1,
    "the content lies there, no checkpoint": 1,
    "the statement is about to be sent": 1,
    "the checkpoint is committed": 2,
}
AT_THE_FOLDER = {
    "the folder is half written": 3,
    "the folder is whole, not named": 3,
    "the folder is named, the former one there": 4,
}


class Case:
    """A thread of the agent `binder` on a database that commits for real."""

    def __init__(self, out: Path) -> None:
        self.out = out
        self.workspace = make_workspace()
        version = load([MODULE])["binder"].version_id
        self.id = store.start(
            version, input={"out": str(out)}, workspace=self.workspace, actor="user:1"
        )

    def die(self, point: str) -> None:
        """Let a process of its own work on it and be killed there."""
        done = subprocess.run(
            [sys.executable, "-m", "tests.unit.payloads.lease", str(self.id), point, MODULE],
            cwd=ROOT,
            env=os.environ | {"DJANGO_SETTINGS_MODULE": "tests.support.settings"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == -signal.SIGKILL, done.stderr

    def work(self) -> Status:
        """Let a worker that lives do what there is to do."""
        wait_until(lambda: work_on(self.id), seconds=60, what=self.row)
        return self.row().status

    def row(self) -> ThreadRow:
        return queries.thread(self.id, workspace=self.workspace)

    def approve(self) -> None:
        (request,) = approval_queries.for_thread(self.id, open_only=True)
        gates.decide(
            request.id,
            workspace=self.workspace,
            reviewer=reviewer_in(self.workspace),
            verdict="approve",
            proposal_hash=request.proposal_hash,
        )

    @property
    def folder(self) -> Path:
        return Path(default_storage.path(f"threads/{self.id}"))

    def check_whole(self, number: int) -> None:
        """The head is this checkpoint, and it has every layer: row, content, files."""
        row = self.row()
        assert row.number == number
        state = queries.state_at(self.id, row.head)
        done = min(number, binder.ROUNDS)
        assert state["done"] == len(state["sheets"]) == done
        assert state["text"].startswith("bound" if number > 3 else f"chapter {done - 1}")
        for sheet in state["sheets"]:
            stored_path = queries.artifact(sheet["$artifact"], workspace=self.workspace).path
            assert default_storage.size(stored_path) == sheet["size"]
        report = verify(self.id)
        assert report.intact, report.what

    def check_folder(self, number: int) -> None:
        """The newest folder that is whole is this checkpoint's, to the last byte."""
        newest = folders.newest(self.folder)
        assert newest.name == folders.name_of(number)
        with folders.opened(self.folder) as reader:
            payload = reader.json(layout.STATE)
        point = queries.checkpoint_by_number(self.id, number)
        assert payload["state"] == queries.state_at(self.id, point.id)
        files = {path.name for path in (newest / "files").iterdir()}
        assert files == {f"sheet {i}.txt" for i in range(binder.ROUNDS)}


@pytest.fixture(autouse=True)
def only_binder(monkeypatch: pytest.MonkeyPatch, real_db: str) -> None:
    """The worker in this process has the one agent."""
    monkeypatch.setattr(loop, "agents", lambda: load([MODULE]))


@pytest.mark.slow
@pytest.mark.parametrize("point", IN_A_STEP)
def test_killed_between_the_writes_of_a_step(real_db: str, tmp_path: Path, point: str) -> None:
    case = Case(tmp_path)
    case.die(point)
    case.check_whole(IN_A_STEP[point])
    assert case.row().status is Status.RUNNING, "nobody had the time to say anything"
    expire(case.id)
    assert case.work() is Status.WAITING
    case.check_whole(3)
    case.check_folder(3)
    case.approve()
    assert case.work() is Status.SUCCEEDED
    case.check_whole(4)
    case.check_folder(4)
    calls = (tmp_path / "calls.txt").read_text().split()
    recorded = "artifact" in point
    assert calls == (["0", "1", "1", "2"] if recorded else ["0", "1", "2"])
    assert len((tmp_path / "bound.txt").read_text().splitlines()) == 1


@pytest.mark.slow
@pytest.mark.parametrize("point", AT_THE_FOLDER)
def test_killed_while_the_folder_is_written(real_db: str, tmp_path: Path, point: str) -> None:
    case = Case(tmp_path)
    assert case.work() is Status.WAITING
    case.check_folder(3)
    case.approve()
    case.die(point)
    assert case.row().status is Status.SUCCEEDED, "the folder follows the commit"
    case.check_whole(4)
    case.check_folder(AT_THE_FOLDER[point])
    # The next time that it comes to rest, its folder is that of its head again.
    row = case.row()
    target = queries.checkpoint_by_number(case.id, 2)
    effects = [e.activity.id for e in queries.effects_after(case.id, target.id)]
    store.roll_back(
        case.id, checkpoint=target.id, undo=effects, reason="", actor="user:1", head=row.head
    )
    assert case.work() is Status.PAUSED
    assert not (tmp_path / "bound.txt").exists()
    newest = folders.newest(case.folder)
    assert newest.name == folders.name_of(5)
    assert json.loads((newest / layout.STATE).read_text())["state"]["done"] == 2
    assert [p.name for p in case.folder.iterdir() if folders.number_of(p.name)] == [newest.name]
