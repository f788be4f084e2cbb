"""A backup is made while threads work, and restored elsewhere: verified, and it goes on there."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest
from django.conf import settings
from pytest_django import DjangoDbBlocker

from dashboard.errors import ActionError
from dashboard.kit.terminal.console import sentence
from dashboard.operate.backups import restored
from dashboard.operate.embedded.postgres import Postgres
from dashboard.operate.embedded.process.folders import folders, prepare
from dashboard.operate.embedded.valkey import Valkey
from tests.faults import invariants
from tests.faults.bench import ROOT, Case, Worker, ask, wait_until
from tests.faults.embedded.helpers import clean_environment

from .own_servers import Ground, elsewhere, own_ground

pytestmark = [pytest.mark.hazard, pytest.mark.slow]
COUNTED = 20_000  # transactions by which the former server is ahead of a new one
COUNT_UP = (
    f"DO $$ BEGIN FOR i IN 1..{COUNTED} LOOP PERFORM pg_current_xact_id(); COMMIT; END LOOP; END $$"
)
ANCHOR_KEY = "a key that is kept apart from the backup"
PAGE = (ROOT / "docs/howto/backup.md").read_text()


@pytest.fixture(scope="module")
def ground(
    django_db_setup: None,
    django_db_blocker: DjangoDbBlocker,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Ground]:
    with own_ground(django_db_blocker, tmp_path_factory.mktemp("backup"), slots=2) as made:
        yield made


@pytest.fixture
def target() -> Iterator[Path]:
    """A data folder with a short name, for the sockets in it."""
    data = Path(tempfile.mkdtemp(prefix="gatepost-new-", dir="/tmp"))
    data.chmod(0o711 if os.geteuid() == 0 else 0o700)
    yield data
    shutil.rmtree(data, ignore_errors=True)


def typed(name: str, backup: Path) -> list[str]:
    """The line of docs/howto/backup.md, with this folder for the one that stands there."""
    (line,) = re.findall(rf"^\./manage\.py ({name} .*)$", PAGE, re.MULTILINE)
    return shlex.split(line.replace("/mnt/backups/2026-12-01", shlex.quote(str(backup))))


def command(data: Path, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    """A command of manage.py on a data folder, with the keys of the installation."""
    environment = clean_environment() | {
        "GATEPOST_DATA": str(data),
        "GATEPOST_SECRET_KEY": settings.SECRET_KEY,
        "GATEPOST_ANCHOR_KEY": ANCHOR_KEY,
    }
    return subprocess.run(
        [sys.executable, "manage.py", *words],
        cwd=ROOT,
        env=environment | more,
        capture_output=True,
        text=True,
        timeout=180,
    )


def back_up(ground: Ground, folder: Path, **more: str) -> dict[str, Any]:
    done = command(ground.postgres.places.data, *typed("backup", folder), "--json", **more)
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def begin(ground: Ground, folder: Path, *steps: str) -> Case:
    """A thread of these steps that was answered with 201."""
    folder.mkdir()
    script = [[order.split() for order in step.split(", ")] for step in steps]
    with ground.http() as http:
        answer = ground.start(http, folder=str(folder), script=script)
    assert answer.status_code == 201, answer.text
    return Case(UUID(answer.json()["id"]), folder, ground.cast.workspace)


@contextmanager
def starting(ground: Ground, folder: Path) -> Iterator[list[Case]]:
    """Somebody starts one thread after the other."""
    cases: list[Case] = []
    ended = threading.Event()

    def call() -> None:
        while not ended.wait(0.02):
            cases.append(begin(ground, folder / f"{len(cases)}", "look a, deliver b", "look c"))

    caller = threading.Thread(target=call)
    caller.start()
    try:
        yield cases
    finally:
        ended.set()
        caller.join(60)


@contextmanager
def going_on(data: Path, folder: Path) -> Iterator[None]:
    """Servers of a restored data folder and a worker on them."""
    places = folders(data)
    prepare(places)
    postgres, valkey = Postgres(places), Valkey(places)
    with ExitStack() as stack:
        for server in (postgres, valkey):
            server.start()
            stack.callback(server.stop)
        postgres.wait()
        valkey.wait()
        stack.enter_context(elsewhere(data, places.run))
        worker = Worker(folder, "restored", slots=2)
        stack.callback(worker.kill)
        worker.wait_ready()
        yield


def test_a_backup_made_at_work_goes_on_elsewhere(
    ground: Ground, target: Path, tmp_path: Path
) -> None:
    with psycopg.connect(ground.postgres.address(), autocommit=True) as connection:
        connection.execute(COUNT_UP)
    waiting = begin(ground, tmp_path / "waiting", "look a", "ask parcel", "look last")
    waiting.wait_status("waiting")
    with ground.http() as http:
        large = ground.start(http, "large", folder=str(tmp_path), size=300_000).json()["id"]
    Case(UUID(large), tmp_path, ground.cast.workspace).wait_status("succeeded")
    (beside := tmp_path / "beside").mkdir()
    with starting(ground, beside) as cases:
        wait_until(lambda: len(cases) >= 5)
        before = [*cases]
        made = back_up(ground, tmp_path / "backup")
        wait_until(lambda: len(cases) > len(before) + 3)
    assert made["threads"] >= len(before) + 2
    assert (made["damaged"], made["files"] >= 1) == ([], True)
    assert not os.stat(tmp_path / "backup/database.dump").st_mode & 0o077
    for case in cases:
        case.wait_status("succeeded")

    done = command(target, *typed("restore", tmp_path / "backup"), "--json")
    assert done.returncode == 0, done.stderr
    verified = json.loads(done.stdout)["verified"]
    assert verified["intact"]
    assert verified["threads"] == made["threads"]
    assert verified["anchor"], "compared with the end of each log as of the dump"
    # What it writes into is never overwritten.
    again = command(target, *typed("restore", tmp_path / "backup"))
    assert again.returncode == 1
    assert "The database is not empty" in again.stderr

    with going_on(target, ground.folder):
        # Readers across threads take no restored event for one of a transaction under way.
        ahead = (
            "SELECT count(*) FROM gp_event WHERE xid8 >= pg_snapshot_xmin(pg_current_snapshot())"
        )
        assert ask(ahead) == [(0,)]
        assert waiting.row().status == "waiting"
        assert waiting.calls("parcel") == []
        waiting.decide("approve")
        waiting.wait_status("succeeded")
        assert len(waiting.calls("parcel")) == 1
        invariants.check(waiting)
        restored_ids = {row[0] for row in ask("SELECT id FROM gp_thread")}
        assert {case.id for case in before} <= restored_ids
        for case in cases:
            if case.id in restored_ids:
                case.wait_status("succeeded")
                invariants.check(case)
                assert len(set(case.calls("b"))) == 1, "again with the same key, if again"
        done = command(target, "verify")
        assert done.returncode == 0, done.stdout + done.stderr


def flip(path: Path) -> None:
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2] ^= 1
    path.write_bytes(raw)


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 100)


def an_artifact(folder: Path) -> Path:
    return next(path for path in sorted((folder / "files/artifacts").rglob("*")) if path.is_file())


DAMAGE: dict[str, tuple[Callable[[Path], object], str]] = {
    "a damaged file": (lambda folder: flip(an_artifact(folder)), "was altered"),
    "a lost file": (lambda folder: an_artifact(folder).unlink(), "is missing"),
    "a cut dump": (lambda folder: cut(folder / "database.dump"), "database.dump is cut off"),
    "a damaged dump": (lambda folder: flip(folder / "database.dump"), "database.dump was altered"),
    "a damaged anchor": (lambda folder: flip(folder / "logs.anchor"), "logs.anchor was altered"),
    "a cut manifest": (lambda folder: cut(folder / "manifest.jsonl"), "manifest.jsonl was altered"),
    "an unfinished backup": (
        lambda folder: (folder / "manifest.jsonl").unlink(),
        "manifest.jsonl cannot be read",
    ),
}


def test_damage_is_named_before_anything_is_written(
    ground: Ground, target: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "GATEPOST_ANCHOR_KEY", ANCHOR_KEY)
    with ground.http() as http:
        large = ground.start(http, "large", folder=str(tmp_path), size=30_000).json()["id"]
    Case(UUID(large), tmp_path, ground.cast.workspace).wait_status("succeeded")
    whole = tmp_path / "whole"
    back_up(ground, whole)
    refused = command(ground.postgres.places.data, *typed("backup", whole))
    assert (refused.returncode, "is not empty" in refused.stderr) == (1, True)
    for name, (harm, what) in DAMAGE.items():
        folder = tmp_path / name
        shutil.copytree(whole, folder)
        harm(folder)
        for unsigned in (False, True):
            with pytest.raises(ActionError) as refusal:
                restored.check(folder, unsigned=unsigned, say=print)
            assert what in sentence(refusal.value), name
    shown = command(target, *typed("restore", tmp_path / "a cut dump"))
    assert (shown.returncode, "database.dump is cut off" in shown.stderr) == (1, True)
    other = command(target, *typed("restore", whole), GATEPOST_ANCHOR_KEY="another key")
    assert other.returncode == 1
    assert "GATEPOST_ANCHOR_KEY" in other.stderr
    assert not (target / "postgres").exists(), "nothing was written"


def test_a_row_that_was_altered_is_found_by_the_restore(
    ground: Ground, target: Path, tmp_path: Path
) -> None:
    case = begin(ground, tmp_path / "case", "look a", "look b")
    case.wait_status("succeeded")
    with psycopg.connect(ground.postgres.address(), autocommit=True) as connection:
        connection.execute("SET session_replication_role = replica")
        # The delta of a checkpoint, by somebody who is master of the database.
        connection.execute(
            "UPDATE gp_checkpoint SET delta = jsonb_set(delta, '{set}', '{\"at\": 7}') "
            "WHERE thread_id = %s AND step = 1",
            [case.id],
        )
    back_up(ground, tmp_path / "backup")
    done = command(target, *typed("restore", tmp_path / "backup"), "--json", "--unsigned")
    assert done.returncode == 1, done.stderr
    verified = json.loads(done.stdout)["verified"]
    assert [finding["id"] for finding in verified["broken"]] == [str(case.id)]
