"""The test run's own PostgreSQL and Valkey, in a folder that ends with it."""

import atexit
import fcntl
import os
import shutil
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from dashboard.operate.embedded.postgres import Postgres
from dashboard.operate.embedded.process.folders import folders, prepare
from dashboard.operate.embedded.valkey import Valkey

# A crash of the machine may lose a test's database: no fsync. A crash of the server may not.
FAST = ("fsync=off", "full_page_writes=off", "max_connections=200", "shared_buffers=64MB")
PREFIX = "gatepost-test-"
MEMORY = Path("/dev/shm")
# Three runs side by side, with logs of 1 GB each at the most, leave room for the machine.
ROOM_IN_MEMORY = 4 * 2**30
ABANDONED_AFTER_SECONDS = 60.0


def choose_parent(memory: Path = MEMORY, *, room: int = ROOM_IN_MEMORY) -> Path:
    """Memory where it has room: a database is 400 files, and a disk takes 20 times as long."""
    try:
        usage = shutil.disk_usage(memory)
    except OSError:
        return Path("/tmp")
    return memory if usage.free >= room and os.access(memory, os.W_OK) else Path("/tmp")


def lock_folder(folder: Path) -> int | None:
    """Lock a run's folder until this process ends; None where a living run holds it."""
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


def remove_abandoned(parent: Path) -> None:
    """Remove the folders of runs that were killed: in memory they would add up."""
    for folder in parent.glob(f"{PREFIX}*"):
        try:
            is_recent = time.time() - folder.stat().st_mtime < ABANDONED_AFTER_SECONDS
        except FileNotFoundError:
            continue  # its own run was faster
        if is_recent or (descriptor := lock_folder(folder)) is None:
            continue
        shutil.rmtree(folder, ignore_errors=True)
        os.close(descriptor)


def start() -> Path:
    """Start both servers; the folder goes and they stop when this process ends."""
    data = _make_folder(Path("/tmp"))
    # Only the databases: tests move stored files to and from folders of their own under /tmp.
    cluster = _make_folder(choose_parent())
    if cluster.parent == MEMORY:
        remove_abandoned(MEMORY)
    places = replace(folders(data), postgres=cluster / "postgres")
    prepare(places)
    postgres, valkey = Postgres(places, options=FAST), Valkey(places)

    def stop() -> None:
        if os.getpid() != starter:
            return  # a forked child of the test run ends; the servers do not
        valkey.stop()
        postgres.stop()
        for folder in (data, cluster):
            shutil.rmtree(folder, ignore_errors=True)

    starter = os.getpid()
    atexit.register(stop)
    postgres.start()
    valkey.start()
    postgres.wait()
    valkey.wait()
    return data


def _make_folder(parent: Path) -> Path:
    # Short, for the sockets in it, and open to the account that serves when root runs the tests.
    folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
    lock_folder(folder)
    folder.chmod(0o711 if os.geteuid() == 0 else 0o700)
    return folder
