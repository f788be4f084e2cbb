"""A PostgreSQL for plays of the Harness: in memory where there is room, gone with its owner.

`python -m dashboard.operate.embedded.throwaway` prints the folder of the server's socket and works
until its input closes. A pipe closes however its owner ends, with SIGKILL as well. Then the server
stops and its folder is removed; what a killed process of this module leaves, the next one removes.

The database is a copy of a template that is made once per schema: initdb and migrations take
seconds, a copy of the folder takes tenths of one.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

import dashboard

from .postgres import DATABASE, Postgres
from .process.folders import EmbeddedError, Folders, folders, make_private, prepare

ROOT: Final = Path(dashboard.__file__).resolve().parents[1]
MEMORY: Final = Path("/dev/shm")  # noqa: S108
DISK: Final = Path("/tmp")  # noqa: S108
PREFIX: Final = "gatepost-play-"
# Three servers beside each other leave room for the machine.
ROOM_IN_MEMORY: Final = 2 * 2**30
ABANDONED_AFTER_SECONDS: Final = 10.0
UNUSED_AFTER_SECONDS: Final = 30 * 86_400.0
# A crash of the machine may lose a play. Shared memory in the folder goes with the folder.
OPTIONS: Final = (
    "fsync=off",
    "full_page_writes=off",
    "synchronous_commit=off",
    "autovacuum=off",
    "shared_buffers=32MB",
    "dynamic_shared_memory_type=mmap",
)
# Statements that read the clock read that of the play, where one is named: PostgreSQL looks for a
# function in the schemas of `search_path` in turn.
CLOCK: Final = """
CREATE SCHEMA play;
CREATE FUNCTION play.clock_timestamp() RETURNS timestamptz VOLATILE LANGUAGE sql
AS $$ SELECT pg_catalog.clock_timestamp() + current_setting('gatepost.ahead')::interval $$;
CREATE FUNCTION play.statement_timestamp() RETURNS timestamptz STABLE LANGUAGE sql
AS $$ SELECT pg_catalog.statement_timestamp() + current_setting('gatepost.ahead')::interval $$;
"""


def choose_parent(memory: Path = MEMORY, *, room: int = ROOM_IN_MEMORY) -> Path:
    """Memory where it has room: a database is 1,000 files, and a disk takes 20 times as long."""
    try:
        usage = shutil.disk_usage(memory)
    except OSError:
        return DISK
    return memory if usage.free >= room and os.access(memory, os.W_OK) else DISK


def lock_folder(folder: Path) -> int | None:
    """Lock a folder until this process ends; None where a living process holds it."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor


def remove_abandoned(
    parent: Path, prefix: str = PREFIX, *, after_seconds: float = ABANDONED_AFTER_SECONDS
) -> None:
    """Remove the folders of processes that were killed: in memory they would add up."""
    for folder in parent.glob(f"{prefix}*"):
        try:
            is_recent = time.time() - folder.stat().st_mtime < after_seconds
        except FileNotFoundError:
            continue  # its own process was faster
        if is_recent or (descriptor := lock_folder(folder)) is None:
            continue
        shutil.rmtree(folder, ignore_errors=True)
        os.close(descriptor)


def make_folder(parent: Path, prefix: str = PREFIX) -> Path:
    """Make a locked folder with a short name, for the sockets in it."""
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
    lock_folder(folder)
    # Open to the account that serves when root plays.
    folder.chmod(0o711 if os.geteuid() == 0 else 0o700)
    return folder


def template_folders() -> Folders:
    """The folders of the template for the tables of this code."""
    digest = hashlib.sha256(CLOCK.encode() + repr(OPTIONS).encode())
    for package in ("checkpoints", "approvals", "dashboard", "workers"):
        for path in sorted((ROOT / package).rglob("migrations/**/*")):
            if path.suffix in (".py", ".sql"):
                digest.update(str(path.relative_to(ROOT)).encode() + path.read_bytes())
    return folders(_cache() / f"plays-{digest.hexdigest()[:12]}")


def _cache() -> Path:
    """The user's folder for templates; in a container some users have no home."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()) / "gatepost"
    try:
        cache.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError):
        cache = DISK / f"gatepost-{os.geteuid()}"
        make_private(cache, None)
    return cache


@contextmanager
def _alone(places: Folders) -> Iterator[None]:
    """Hold the template against other processes that start beside this one."""
    with (places.data.parent / "plays.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def make_template(places: Folders) -> None:
    """Create a database and its tables; renamed at the end, so that half a template is none."""
    scratch = replace(places, postgres=places.postgres.with_name("making"))
    shutil.rmtree(scratch.postgres, ignore_errors=True)
    prepare(scratch)
    server = Postgres(scratch, options=OPTIONS)
    server.start()
    try:
        server.wait()
        server.create_database()
        _migrate(server, scratch)
    finally:
        server.stop()
    scratch.postgres.rename(places.postgres)


def _migrate(server: Postgres, places: Folders) -> None:
    import psycopg

    variables = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    env = variables | {
        "DJANGO_SETTINGS_MODULE": "dashboard.settings",
        "GATEPOST_DATA_DIR": str(places.data),
        "DATABASE_URL": f"postgres://gatepost@/gatepost?host={places.run}",
        "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)]),
    }
    done = subprocess.run(
        [sys.executable, "-m", "django", "migrate", "--no-input", "-v0", "--skip-checks"],
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise EmbeddedError(f"The tables for plays could not be made: {done.stderr[-2000:]}")
    with psycopg.connect(server.address(), autocommit=True) as connection:
        connection.execute(CLOCK)


def remove_unused(cache: Path) -> None:
    """Remove templates of former versions that no play has used for a month."""
    for folder in cache.glob("plays-*/"):
        if time.time() - folder.stat().st_mtime > UNUSED_AFTER_SECONDS:
            shutil.rmtree(folders(folder).postgres.parent, ignore_errors=True)
            shutil.rmtree(folder, ignore_errors=True)


def copy_template(places: Folders, target: Path) -> None:
    """Copy the template's cluster; `cp` takes a third of the time of Python's own copy."""
    subprocess.run(["cp", "-a", places.postgres, target], check=True)


def serve() -> None:
    """Serve one database until the input closes."""
    parent = choose_parent()
    remove_abandoned(parent)
    folder = make_folder(parent)
    try:
        template = template_folders()
        places = replace(folders(folder), postgres=folder / "postgres")
        with _alone(template):
            if not template.postgres.exists():
                remove_unused(template.data.parent)
                make_template(template)
            os.utime(template.data)
            copy_template(template, places.postgres)
        prepare(places)
        server = Postgres(places, options=OPTIONS)
        server.start()
        try:
            server.wait()
            server.create_database("play_1", template=DATABASE)
            print(places.run, flush=True)
            while os.read(0, 4096):
                pass
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main() -> None:
    """Serve, and say in one line on the error output why that is not possible."""
    # Who ends a play from its terminal ends this process by its input.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        serve()
    except EmbeddedError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
