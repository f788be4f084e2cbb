"""Two PostgreSQL servers under one address, one a streaming replica of the other."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import psycopg
from django.core.management import call_command
from django.db import connection, connections
from pytest_django import DjangoDbBlocker

from dashboard.identity import tokens
from dashboard.operate.embedded.postgres import USER, Postgres
from dashboard.operate.embedded.process.folders import folders, make_private, prepare
from dashboard.operate.embedded.process.library import postgres_programs
from dashboard.operate.embedded.valkey import Valkey
from tests.faults.bench import AGENTS, Worker, wait_until
from tests.faults.embedded.helpers import free_port
from tests.faults.web import Web
from tests.support.cast import Cast, make_cast
from tests.support.servers import FAST


class Member(Postgres):
    """A server of the pair, on a port of its own."""

    def __init__(self, data: Path, *options: str) -> None:
        self.port = free_port()
        network = ("listen_addresses=127.0.0.1", f"port={self.port}")
        super().__init__(folders(data), options=(*FAST, *network, *options))

    def _write_access_rules(self, users: Sequence[str]) -> None:
        super()._write_access_rules(users)
        with (self.places.postgres / "pg_hba.conf").open("a") as file:
            file.write("host all,replication all 127.0.0.1/32 trust\n")

    def address(self, database: str = "gatepost") -> str:
        return f"host=127.0.0.1 port={self.port} dbname={database} user={USER}"

    def run(self, program: str, *arguments: str) -> None:
        """A program of PostgreSQL, as the servers' account."""
        account = self.places.account
        done = subprocess.run(
            [postgres_programs(self.places) / program, *arguments],
            capture_output=True,
            text=True,
            cwd=self.places.run,
            user=account.uid if account else None,
            group=account.gid if account else None,
            extra_groups=[] if account else None,
        )
        assert done.returncode == 0, done.stderr

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the server and all its processes, as if to the whole machine."""
        assert self.process is not None
        pid = self.process.pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        for one in (pid, *map(int, children)):
            try:
                os.kill(one, number)
            except ProcessLookupError:
                continue

    def kill(self) -> None:
        """SIGKILL: the machine is gone."""
        self.signal(signal.SIGKILL)
        assert self.process is not None
        self.process.wait()

    def ask(self, sql: str, *params: Any) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.address()) as server:
            return server.execute(sql, params).fetchall()  # type: ignore[arg-type]


@dataclass
class Pair:
    """Both servers, a web process and two workers on their common address, an operator's token."""

    primary: Member
    replica: Member
    cast: Cast
    token: str
    folder: Path
    slots: int
    workers: list[Worker] = field(default_factory=list)
    web: Web = field(init=False)

    def start(self) -> None:
        """Start a web process and two workers."""
        self.web = Web(self.folder)
        self.workers = [Worker(self.folder, f"pair-{n}", slots=self.slots) for n in (1, 2)]
        for worker in self.workers:
            worker.wait_ready()
        self.web.wait_ready()

    def kill(self) -> None:
        """kill -9 of the web process and the workers."""
        self.web.kill()
        for worker in self.workers:
            worker.kill()

    def http(self) -> httpx.Client:
        headers = {"Authorization": f"Bearer {self.token}"}
        return httpx.Client(base_url=self.web.address, timeout=20, headers=headers)

    def promote(self) -> None:
        """What a tool for high availability does once the primary is gone.

        From here on this process reads from the promoted server alone.
        """
        connections.close_all()
        connection.settings_dict |= {"PORT": str(self.replica.port), "HOST": "127.0.0.1"}
        self.replica.run("pg_ctl", "promote", "--wait", "-D", str(self.replica.places.postgres))

    def part(self) -> None:
        """Cut the replica off from the primary, which goes on alone."""
        with psycopg.connect(self.replica.address(), autocommit=True) as session:
            session.execute("ALTER SYSTEM RESET primary_conninfo")
            session.execute("SELECT pg_reload_conf()")
        wait_until(lambda: not self.primary.ask("SELECT 1 FROM pg_stat_replication"))

    def logs(self) -> str:
        return "".join(worker.log.read_text(errors="replace") for worker in self.workers)


def replica_of(primary: Member, data: Path) -> Member:
    """A copy of the running server that follows it; it answers."""
    # Not as `--write-recovery-conf` has it: the server's client library may be an older one.
    follows = f"host=127.0.0.1 port={primary.port} user={USER}"
    made = Member(data)
    prepare(made.places)
    make_private(made.places.postgres, made.places.account)
    made.run(
        *("pg_basebackup", "--checkpoint=fast", "--wal-method=stream"),
        *("-D", str(made.places.postgres), "--dbname", follows),
    )
    (made.places.postgres / "standby.signal").touch()
    with (made.places.postgres / "postgresql.auto.conf").open("a") as file:
        file.write(f"primary_conninfo = '{follows}'\n")
    made.start()
    made.wait()
    state = "SELECT 1 FROM pg_stat_replication WHERE state = 'streaming'"
    wait_until(lambda: primary.ask(state), what=made.log.read_text)
    return made


@contextmanager
def own_pair(
    blocker: DjangoDbBlocker, folder: Path, *, synchronous: bool = True, slots: int = 2
) -> Iterator[Pair]:
    """Servers, a web process and two workers; what follows finds the servers of the test run."""
    from .own_servers import elsewhere

    home = Path(tempfile.mkdtemp(prefix="gp-pair-", dir="/tmp"))
    home.chmod(0o711 if os.geteuid() == 0 else 0o700)
    data = home / "data"
    places = folders(data)
    prepare(places)
    shutil.copy(AGENTS / "own_agents.py", folder)
    primary, valkey = Member(data), Valkey(places)
    with ExitStack() as stack, blocker.unblock():
        stack.callback(shutil.rmtree, home, ignore_errors=True)
        for server in (primary, valkey):
            server.start()
            stack.callback(server.stop)
        primary.wait()
        valkey.wait()
        primary.create_database()
        replica = replica_of(primary, home / "replica")
        stack.callback(replica.stop)
        hosts = f"127.0.0.1:{primary.port},127.0.0.1:{replica.port}"
        url = f"postgresql://{USER}@{hosts}/gatepost?target_session_attrs=read-write"
        stack.enter_context(elsewhere(data, places.run, url))
        call_command("migrate", verbosity=0)
        cast = make_cast()
        token = tokens.make(cast.users["operator"], made_by="user:0")[1]
        if synchronous:
            with psycopg.connect(primary.address(), autocommit=True) as session:
                session.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
                session.execute("SELECT pg_reload_conf()")
            wait_until(
                lambda: primary.ask("SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'")
            )
        made = Pair(primary, replica, cast, token, folder, slots)
        stack.callback(made.kill)
        made.start()
        yield made
