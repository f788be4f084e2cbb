"""The embedded PostgreSQL: private, restartable, and never half made."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from dashboard.operate.embedded.postgres import Postgres
from dashboard.operate.embedded.process import folders as places_module
from dashboard.operate.embedded.process.folders import EmbeddedError, Folders, folders, prepare
from tests.faults.embedded.helpers import wait_until

pytestmark = pytest.mark.nightly


@pytest.fixture
def places(data: Path) -> Folders:
    made = folders(data)
    prepare(made)
    return made


@pytest.fixture
def postgres(places: Folders) -> Iterator[Postgres]:
    server = Postgres(places)
    server.start()
    server.wait()
    server.create_database()
    yield server
    server.stop()


def test_data_survive_a_stop_and_a_kill(postgres: Postgres) -> None:
    with psycopg.connect(postgres.address()) as connection:
        connection.execute("CREATE TABLE kept (x int)")
        connection.execute("INSERT INTO kept VALUES (1)")
    for end in (postgres.stop, lambda: postgres.process and postgres.process.kill()):
        end()
        assert postgres.process is not None
        postgres.process.wait(5)
        postgres.start()
        postgres.wait()
        assert postgres.create_database() is False
        with psycopg.connect(postgres.address()) as connection:
            assert connection.execute("SELECT count(*) FROM kept").fetchone() == (1,)


def test_nothing_listens_on_a_port_and_flushing_is_on(postgres: Postgres) -> None:
    with psycopg.connect(postgres.address()) as connection:
        shown = {
            name: connection.execute(f"SHOW {name}").fetchone()[0]  # type: ignore[index, call-overload]
            for name in ("listen_addresses", "fsync", "synchronous_commit", "server_encoding")
        }
    assert shown == {
        "listen_addresses": "",
        "fsync": "on",
        "synchronous_commit": "on",
        "server_encoding": "UTF8",
    }
    assert (postgres.places.run.stat().st_mode & 0o777) == 0o700


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can try as somebody else")
def test_other_accounts_stay_out(postgres: Postgres) -> None:
    programs = Path(f"/proc/{postgres.process.pid}/exe").resolve().parent  # type: ignore[union-attr]
    tried = subprocess.run(
        [
            programs / "psql",
            "-h",
            postgres.places.run,
            "-U",
            "gatepost",
            "-c",
            "SELECT 1",
            "postgres",
        ],
        user=54321,
        group=54321,
        extra_groups=[],
        capture_output=True,
        text=True,
        cwd="/",
    )
    assert tried.returncode != 0
    assert "Permission denied" in tried.stderr


def test_a_long_data_folder_gets_a_short_run_folder(tmp_path: Path) -> None:
    deep = tmp_path / ("a" * 60) / ("b" * 60)
    run = folders(deep).run
    assert len(str(run)) < 60
    assert run == folders(deep).run != folders(deep / "c").run


@pytest.mark.skipif(os.geteuid() != 0, reason="about the home of root")
def test_the_home_of_root_stays_closed(tmp_path: Path) -> None:
    closed = tmp_path / "home"
    closed.mkdir(mode=0o700)
    places = folders(closed / "data")
    assert not places.postgres.is_relative_to(closed)
    assert places.logs.is_relative_to(closed)
    assert closed.stat().st_mode & 0o777 == 0o700


def test_a_run_folder_of_somebody_else_is_refused(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data.parent.joinpath("trap").mkdir()
    trap = data.parent / "run"
    trap.symlink_to(data.parent / "trap")
    with pytest.raises(EmbeddedError, match="belongs to somebody else"):
        places_module.make_private(trap, None)


def test_an_interrupted_first_start_leaves_nothing_half_made(places: Folders) -> None:
    half = places.postgres.with_name("postgres.new")
    half.mkdir()
    (half / "PG_VERSION").write_text("18\n")
    server = Postgres(places)
    server.start()
    server.wait()
    server.stop()
    assert not half.exists()


def test_another_version_is_said_in_a_sentence(places: Folders) -> None:
    places.postgres.mkdir()
    (places.postgres / "PG_VERSION").write_text("12\n")
    with pytest.raises(EmbeddedError, match="made by PostgreSQL 12"):
        Postgres(places).start()


def test_the_server_ends_with_its_starter(places: Folders) -> None:
    """On Linux even without a watchdog."""
    if not sys.platform.startswith("linux"):
        pytest.skip("Linux only; elsewhere the watchdog does it")
    script = (
        "import sys, time\n"
        "from pathlib import Path\n"
        "from dashboard.operate.embedded.process.folders import folders, prepare\n"
        "from dashboard.operate.embedded.postgres import Postgres\n"
        "places = folders(Path(sys.argv[1])); prepare(places)\n"
        "server = Postgres(places); server.start(); server.wait()\n"
        "print(server.process.pid, flush=True); time.sleep(60)\n"
    )
    starter = subprocess.Popen(
        [sys.executable, "-c", script, str(places.data)], stdout=subprocess.PIPE, text=True
    )
    assert starter.stdout is not None
    pid = int(starter.stdout.readline())
    starter.send_signal(signal.SIGKILL)
    starter.wait()
    starter.stdout.close()
    wait_until(lambda: not Path(f"/proc/{pid}").exists(), seconds=30, what="the end of PostgreSQL")


def test_a_server_whose_children_still_work_is_waited_for(postgres: Postgres) -> None:
    """PostgreSQL refuses to start while a child of the killed server has its memory."""
    assert postgres.process is not None
    with psycopg.connect(postgres.address("postgres"), autocommit=True) as busy:
        child = busy.info.backend_pid
        os.kill(child, signal.SIGSTOP)
        postgres.process.kill()
        postgres.process.wait()
        began = time.monotonic()
        threading.Timer(1.0, os.kill, (child, signal.SIGCONT)).start()
        postgres.start()
        postgres.wait()
        assert time.monotonic() - began > 0.9
    postgres.stop()
