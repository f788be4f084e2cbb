"""The test run's own PostgreSQL and Valkey, in a folder that ends with it."""

import atexit
import os
import shutil
import tempfile
from pathlib import Path

from dashboard.embedded.folders import folders, prepare
from dashboard.embedded.postgres import Postgres
from dashboard.embedded.valkey import Valkey

# A crash of the machine may lose a test's database: no fsync. A crash of the server may not.
FAST = ("fsync=off", "full_page_writes=off", "max_connections=200", "shared_buffers=64MB")


def start() -> Path:
    """Start both servers; the folder goes and they stop when this process ends."""
    # Short, for the sockets in it, and open to the account that serves when root runs the tests.
    data = Path(tempfile.mkdtemp(prefix="gatepost-test-", dir="/tmp"))
    data.chmod(0o711 if os.geteuid() == 0 else 0o700)
    places = folders(data)
    prepare(places)
    postgres, valkey = Postgres(places, options=FAST), Valkey(places)

    def stop() -> None:
        if os.getpid() != starter:
            return  # a forked child of the test run ends; the servers do not
        valkey.stop()
        postgres.stop()
        shutil.rmtree(data, ignore_errors=True)

    starter = os.getpid()
    atexit.register(stop)
    postgres.start()
    valkey.start()
    postgres.wait()
    valkey.wait()
    return data
