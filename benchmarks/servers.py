"""PostgreSQL and Valkey of a bench run: set up as in production (fsync on), gone afterwards."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

from dashboard.operate.embedded.postgres import Postgres
from dashboard.operate.embedded.process.folders import folders, prepare
from dashboard.operate.embedded.valkey import Valkey

OUTSIDE = ("GATEPOST_", "DJANGO_", "DATABASE_URL", "REDIS_URL", "CELERY_")


def clean_environment() -> None:
    """Forget what somebody's shell says about another Gatepost."""
    for name in list(os.environ):
        if name.startswith(OUTSIDE):
            del os.environ[name]
    # What is measured is the work of a call, not how many one address may make.
    os.environ["GATEPOST_API_PER_ACCOUNT"] = os.environ["GATEPOST_API_PER_ADDRESS"] = "0"
    os.environ["GATEPOST_REPORTS_PER_ACCOUNT"] = os.environ["GATEPOST_REPORTS_PER_ADDRESS"] = "0"
    os.environ["GATEPOST_MCP_NETWORKS"] = "127.0.0.0/8"


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A short folder that the account of the servers can enter."""
    home = Path(tempfile.mkdtemp(prefix="gp-bench-", dir="/tmp"))
    home.chmod(0o711 if os.geteuid() == 0 else 0o700)
    try:
        yield home
    finally:
        shutil.rmtree(home, ignore_errors=True)


class Bench:
    """The servers, Django on them, and what all rows need."""

    def __init__(self, data: Path, address: str) -> None:
        self.data = data
        self.address = address

    def connect(self) -> psycopg.Connection[Any]:
        """A connection of its own beside Django's, in autocommit."""
        return psycopg.connect(self.address, autocommit=True, prepare_threshold=0)

    def flush_takes(self, milliseconds: float) -> None:
        """Let each flush of the log take that much longer, in all sessions: 0 is the disk as is."""
        with self.connect() as server:
            server.execute(f"ALTER SYSTEM SET commit_delay = {int(milliseconds * 1000)}")
            server.execute(f"ALTER SYSTEM SET commit_siblings = {0 if milliseconds else 5}")
            server.execute("SELECT pg_reload_conf()")
            # Sessions take it over between two statements; look until a new one has it.
            for _ in range(100):
                with self.connect() as other:
                    row = other.execute("SHOW commit_delay").fetchone()
                if row is not None and int(row[0]) == int(milliseconds * 1000):
                    break
                time.sleep(0.01)
        time.sleep(0.2)

    @contextmanager
    def without_autovacuum(self) -> Iterator[None]:
        """Keep it from coming by, once what it is at is done.

        While it reads a large table nothing can be cleaned behind it, and each further version of
        a thread's row takes room that is used again afterwards.
        """
        with self.connect() as server, without_autovacuum(server):
            yield


@contextmanager
def without_autovacuum(server: psycopg.Connection[Any]) -> Iterator[None]:
    """Autovacuum off on the whole server, once what it is at is done; then on again."""
    server.execute("ALTER SYSTEM SET autovacuum = off")
    server.execute("SELECT pg_reload_conf()")
    try:
        for _ in range(600):
            time.sleep(0.1)  # also for the launcher, which starts workers until it has read this
            at_it = server.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE backend_type LIKE 'autovacuum %'"
            ).fetchone()
            if at_it == (0,):
                break
        else:
            raise TimeoutError("Autovacuum is still at work after a minute.")
        yield
    finally:
        server.execute("ALTER SYSTEM SET autovacuum = on")
        server.execute("SELECT pg_reload_conf()")


@contextmanager
def bench() -> Iterator[Bench]:
    """Start everything, migrate, give it, stop it."""
    with scratch_folder() as home:
        data = home / "data"
        places = folders(data)
        prepare(places)
        postgres, valkey = Postgres(places), Valkey(places)
        postgres.start()
        valkey.start()
        try:
            postgres.wait()
            valkey.wait()
            postgres.create_database()
            os.environ["DJANGO_SETTINGS_MODULE"] = "benchmarks.settings"
            os.environ["GATEPOST_DATA"] = str(data)
            os.environ["GATEPOST_LOG_LEVEL"] = "WARNING"
            import django
            from django.core.management import call_command
            from django.db import connections

            django.setup()
            call_command("migrate", interactive=False, verbosity=0, skip_checks=True)
            try:
                yield Bench(data, postgres.address())
            finally:
                connections.close_all()
        finally:
            valkey.stop()
            postgres.stop()
