"""The test run's own PostgreSQL and Valkey, in a folder that ends with it."""

import atexit
import os
import shutil
from dataclasses import replace
from pathlib import Path

from dashboard.operate.embedded.postgres import Postgres
from dashboard.operate.embedded.process.folders import folders, prepare
from dashboard.operate.embedded.throwaway import (
    MEMORY,
    choose_parent,
    make_folder,
    remove_abandoned,
)
from dashboard.operate.embedded.valkey import HotStore, Valkey

# A crash of the machine may lose a test's database: no fsync. A crash of the server may not.
FAST = ("fsync=off", "full_page_writes=off", "max_connections=200", "shared_buffers=64MB")
PREFIX = "gatepost-test-"
# Three runs side by side, with logs of 1 GB each at the most, leave room for the machine.
ROOM_IN_MEMORY = 4 * 2**30
ABANDONED_AFTER_SECONDS = 60.0


def start() -> Path:
    """Start both servers; the folder goes and they stop when this process ends."""
    data = make_folder(Path("/tmp"), PREFIX)
    # Only the databases: tests move stored files to and from folders of their own under /tmp.
    cluster = make_folder(choose_parent(room=ROOM_IN_MEMORY), PREFIX)
    if cluster.parent == MEMORY:
        remove_abandoned(MEMORY, PREFIX, after_seconds=ABANDONED_AFTER_SECONDS)
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


def start_hot_store(data: Path) -> HotStore:
    """Start the hot store of the test run, for those tests that want one; it ends with the run."""
    server = HotStore(folders(data))
    starter = os.getpid()
    atexit.register(lambda: server.stop() if os.getpid() == starter else None)
    server.start()
    server.wait()
    return server
