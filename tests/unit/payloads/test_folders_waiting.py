"""A thread's folder that could not be written when it came to rest is written later, by any worker.

Real ends of real leases, a real folder that is away, processes that are really killed.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.files.storage import default_storage
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from checkpoints import queries, store
from checkpoints.capsules import folder as folders
from checkpoints.capsules import layout
from checkpoints.states import Status
from dashboard.operate.doctor import lag
from dashboard.operate.doctor.findings import Seen
from dashboard.threads.capsules import folders as keeping
from dashboard.threads.capsules.waiting_folders import AWAY_SECONDS, write_due
from dashboard.threads.edit import edit
from tests.faults.bench import SHORT, Worker, wait_until, workers
from tests.support.cast import make_cast
from tests.unit.checkpoints.builders import rows
from workers.code.registry import load
from workers.slot import loop, sweep

from .test_killed import AT_THE_FOLDER, MODULE, Case

pytestmark = [pytest.mark.requirement("B14"), pytest.mark.requirement("B19")]

RENAME = Path.rename  # a folder gets its name by it


@pytest.fixture(autouse=True)
def only_binder(monkeypatch: pytest.MonkeyPatch, real_db: str) -> None:
    """The worker in this process has the one agent."""
    monkeypatch.setattr(loop, "agents", lambda: load([MODULE]))


@pytest.fixture
def mount(tmp_path: Path) -> Iterator[Path]:
    """The folder of all threads, there again afterwards."""
    root = Path(default_storage.path("threads"))
    yield root
    if (tmp_path / "unmounted").exists():
        shutil.rmtree(root, ignore_errors=True)
        RENAME(tmp_path / "unmounted", root)


@pytest.fixture
def leave_at_rest(
    monkeypatch: pytest.MonkeyPatch, mount: Path, tmp_path: Path
) -> Callable[[Case], None]:
    """Work on a case whose drive goes between its last commit and its folder."""

    def leave(case: Case) -> None:
        real = keeping.keep

        def gone(*args: Any) -> None:
            RENAME(mount, tmp_path / "unmounted")
            real(*args)

        with monkeypatch.context() as patched:
            patched.setattr(keeping, "keep", gone)
            case.work()

    return leave


def waits() -> list[str]:
    return [name for (name,) in rows("SELECT name FROM gp_duty WHERE starts_with(name, 'folder:')")]


def later() -> None:
    """As if the last moves were an hour ago."""
    rows(
        "UPDATE gp_thread SET status_since = status_since - interval '1 hour', "
        "last_at = last_at - interval '1 hour'"
    )
    rows("UPDATE gp_duty SET until = until - interval '1 hour' WHERE starts_with(name, 'folder:')")


def finished(out: Path) -> Case:
    """A thread at its end, with its folder."""
    case = Case(out)
    assert case.work() is Status.WAITING
    case.approve()
    assert case.work() is Status.SUCCEEDED
    case.check_folder(4)
    return case


def test_nothing_waits_where_all_went_well(tmp_path: Path) -> None:
    finished(tmp_path)
    assert waits() == []
    later()
    with CaptureQueriesContext(connection) as queries:
        assert sweep.sweep_once(owner="worker:1")["folders"] == 0
    looks = [query["sql"] for query in queries if "folder:" in query["sql"]]
    assert len(looks) == 1, "one look, whatever there is"
    assert write_due() == 0


def test_a_drive_that_was_away_at_the_end_gets_the_folder_when_it_is_back(
    tmp_path: Path, mount: Path, leave_at_rest: Callable[[Case], None]
) -> None:
    case = Case(tmp_path)
    assert case.work() is Status.WAITING
    case.approve()
    leave_at_rest(case)
    assert case.row().status is Status.SUCCEEDED
    assert waits() == [f"folder:{case.id}"]
    assert write_due() == 0, "whoever left it still has the time to write it"
    results = list(lag.folders(Seen()))
    assert [one.level for one in results] == ["ok"]
    later()
    assert write_due() == 0
    assert not mount.exists(), "nothing is begun below a mount that is not there"
    (found_now,) = lag.folders(Seen())
    assert found_now.level == "warning"
    assert found_now.value.startswith("1 folder waits to be written, the first for 1 h")
    shutil.rmtree(mount, ignore_errors=True)
    RENAME(tmp_path / "unmounted", mount)
    case.check_folder(3)
    assert write_due() == 0, "it was asked a moment ago"
    later()
    assert write_due() == 1
    case.check_folder(4)
    assert [p.name for p in case.folder.iterdir() if folders.number_of(p.name)] == [
        folders.name_of(4)
    ]
    assert waits() == []
    assert [one.level for one in lag.folders(Seen())] == ["ok"]


@pytest.mark.slow
@pytest.mark.hazard
@pytest.mark.parametrize("point", AT_THE_FOLDER)
def test_a_worker_that_was_killed_over_the_folder_of_an_ended_thread(
    tmp_path: Path, point: str
) -> None:
    case = Case(tmp_path)
    assert case.work() is Status.WAITING
    case.approve()
    case.die(point)
    assert case.row().status is Status.SUCCEEDED
    assert waits() == [f"folder:{case.id}"]
    later()
    assert write_due() == 1
    case.check_folder(4)
    assert waits() == []


def test_an_edit_leaves_its_note_with_the_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cast = make_cast()
    case = Case(tmp_path)
    rows("UPDATE gp_thread SET workspace_id = %s", [cast.workspace])
    case.workspace = cast.workspace
    assert case.work() is Status.WAITING

    def full(*_: Any, **__: Any) -> Any:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(keeping.tempfile, "mkdtemp", full)
        edit(cast.actor("operator"), case.id, {"text": "by hand " * 500}, "Better.")
    assert waits() == [f"folder:{case.id}"]
    case.check_folder(3)
    later()
    assert write_due() == 1
    newest = folders.newest(case.folder)
    assert newest.name == folders.name_of(4)
    assert "by hand" in (newest / layout.STATE).read_text()
    with transaction.atomic():
        store.edit(case.id, changes={"text": "x" * 5_000}, reason="", actor="user:1")
        assert waits() == [f"folder:{case.id}"]
        transaction.set_rollback(True)
    assert waits() == [], "an edit that is taken back leaves no note"


def test_a_thread_at_work_is_left_to_its_worker(tmp_path: Path) -> None:
    case = finished(tmp_path)
    row = case.row()
    store.owe_folder(case.id, by="one")
    later()
    rows("UPDATE gp_thread SET lease_token = gen_random_uuid()")
    assert store.claim_folder() is None
    assert queries.late_folders(seconds=1).count == 0
    rows("UPDATE gp_thread SET lease_token = NULL")
    owed = store.claim_folder()
    assert owed is not None
    assert (owed.thread, owed.workspace) == (case.id, row.workspace)
    assert store.claim_folder() is None, "one does it"
    # It moves on meanwhile: what was written is no longer its newest.
    store.owe_folder(case.id, by="another")
    store.folder_kept(owed.thread, by=owed.by)
    assert waits() == [f"folder:{case.id}"]
    store.folder_kept(case.id, by="another")
    assert waits() == []


def test_the_first_refusal_of_the_storage_ends_the_round_damage_does_not(
    tmp_path: Path, mount: Path
) -> None:
    cases = []
    for number in range(3):
        (out := tmp_path / str(number)).mkdir()
        cases.append(finished(out))
    for case in cases:
        shutil.rmtree(folders.newest(case.folder))
        store.owe_folder(case.id, by="one")
    later()
    RENAME(mount, tmp_path / "unmounted")
    tried = "SELECT count(*) FROM gp_duty WHERE starts_with(name, 'folder:') AND until > now()"
    assert write_due() == 0
    assert rows(tried, []) == [(1,)], "one knock is enough"
    RENAME(tmp_path / "unmounted", mount)
    later()
    for content in (cases[0].folder / "contents").iterdir():
        content.write_bytes(b'"other"')
    assert write_due() == 2
    for case in cases[1:]:
        case.check_folder(4)
    assert waits() == [f"folder:{cases[0].id}"], "nobody writes what is damaged"


@pytest.mark.slow
@pytest.mark.hazard
def test_a_real_worker_writes_it(
    tmp_path: Path, mount: Path, leave_at_rest: Callable[[Case], None]
) -> None:
    case = Case(tmp_path)
    assert case.work() is Status.WAITING
    case.approve()
    leave_at_rest(case)
    later()
    agents = {"GATEPOST_AGENTS": MODULE, "PYTHONPATH": str(Path(__file__).parents[3])}
    with workers(Worker(tmp_path, "folders", settings=SHORT, environment=agents)):
        # It has asked, and put it off for less time than a claim has.
        put_off = (
            "SELECT 1 FROM gp_duty WHERE starts_with(name, 'folder:') "
            "AND until BETWEEN now() AND now() + make_interval(secs => %s)"
        )
        wait_until(lambda: rows(put_off, [AWAY_SECONDS]), what=waits)
        RENAME(tmp_path / "unmounted", mount)
        later()
        wait_until(lambda: not waits(), what=waits)
    case.check_folder(4)
