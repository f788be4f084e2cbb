"""The embedded PostgreSQL: a foreground child on a unix socket, peer authentication, no TCP."""

import os
import pwd
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from .process import processes
from .process.folders import EmbeddedError, Folders, make_private
from .process.library import postgres_programs

USER = "gatepost"
DATABASE = "gatepost"
FORMER_SERVER_SECONDS = 15.0


class Postgres:
    """One cluster in the data folder.

    `options` are further `-c` settings, for tests and benchmarks.
    """

    name = "PostgreSQL"

    def __init__(self, places: Folders, *, options: Sequence[str] = ()) -> None:
        self.places = places
        self.options = tuple(options)
        self.log = places.logs / "postgres.log"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> subprocess.Popen[bytes]:
        """Create the cluster when there is none, then start the server; see `wait`."""
        users = self._users()
        programs = postgres_programs(self.places)
        if not (self.places.postgres / "PG_VERSION").exists():
            self._create(programs)
        self._check_version(programs)
        self._wait_for_former_server()
        self._write_access_rules(users)
        settings = [
            "listen_addresses=",
            f"unix_socket_directories={self.places.run}",
            "unix_socket_permissions=0700",
            "max_connections=100",
            "log_timezone=UTC",
            *self.options,
        ]
        argv: list[str | Path] = [programs / "postgres", "-D", self.places.postgres]
        for setting in settings:
            argv += ["-c", setting]
        self.process = processes.start(
            argv,
            log=self.log,
            account=self.places.account,
            cwd=self.places.postgres,
            death_signal=signal.SIGINT,  # PostgreSQL's word for: stop now, cleanly
        )
        return self.process

    def wait(
        self,
        *,
        timeout: float = 120.0,
        check: Callable[[], None] = lambda: None,
        answers: Callable[[], bool] | None = None,
    ) -> None:
        """Return when the server answers; crash recovery may take its time.

        `check` is called between the tries and may raise. `answers` asks in place of the method.

        Raises EmbeddedError when it ends instead.
        """
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            check()
            if self.process is not None and self.process.poll() is not None:
                break
            if (answers or self.answers)():
                return
            time.sleep(0.01)
        raise EmbeddedError(f"PostgreSQL did not start; its log says why: {self.log}")

    def answers(self) -> bool:
        """Answer True if the server takes connections."""
        import psycopg

        try:
            psycopg.connect(self.address("postgres")).close()
        except psycopg.OperationalError:
            return False
        return True

    def create_database(self, name: str = DATABASE, *, template: str = "") -> bool:
        """Create a database unless it exists, as a copy of `template`; True when it was created."""
        import psycopg
        from psycopg import sql

        with psycopg.connect(self.address("postgres"), autocommit=True) as connection:
            try:
                create = sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name))
                if template:  # a copy of the files takes half as long as one by the log
                    like = sql.SQL(" TEMPLATE {} STRATEGY FILE_COPY")
                    create += like.format(sql.Identifier(template))
                connection.execute(create)
            except psycopg.errors.DuplicateDatabase:
                return False
        return True

    def address(self, database: str = DATABASE) -> str:
        """The connection string for psycopg."""
        return f"host='{self.places.run}' dbname={database} user={USER}"

    def stop(self, *, timeout: float = 5.0) -> None:
        """Stop immediately and cleanly; after `timeout` seconds without the farewell checkpoint."""
        if self.process is None or self.process.poll() is not None:
            return
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.process.send_signal(signal.SIGQUIT)
            self.process.wait(timeout)

    def _create(self, programs: Path) -> None:
        # Made beside its place and renamed: an interrupted first start leaves nothing half done.
        scratch = self.places.postgres.with_name("postgres.new")
        shutil.rmtree(scratch, ignore_errors=True)
        make_private(scratch, self.places.account)
        account = self.places.account
        made = subprocess.run(
            [
                programs / "initdb",
                f"--pgdata={scratch}",
                f"--username={USER}",
                "--auth-local=peer",
                "--auth-host=reject",
                "--encoding=UTF8",
                "--locale-provider=builtin",
                "--builtin-locale=C.UTF-8",
                "--locale=C",
                "--no-instructions",
            ],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            cwd=scratch,
            start_new_session=True,
            user=account.uid if account else None,
            group=account.gid if account else None,
            extra_groups=[] if account else None,
        )
        if made.returncode != 0:
            reason = (made.stderr.strip().splitlines() or ["no reason given"])[-1]
            raise EmbeddedError(f"PostgreSQL could not create its data folder: {reason}")
        scratch.rename(self.places.postgres)

    def _check_version(self, programs: Path) -> None:
        stored = (self.places.postgres / "PG_VERSION").read_text().strip()
        installed = programs.parent.name.removeprefix("postgresql-").partition(".")[0]
        if stored != installed:
            raise EmbeddedError(
                f"The data folder was made by PostgreSQL {stored}, installed is {installed}: "
                "export with the former version, or start with an empty --data-dir."
            )

    def _wait_for_former_server(self) -> None:
        """After a SIGKILL the former server, or its children, need a moment to end."""
        if not (self.places.postgres / "postmaster.pid").exists():
            return  # it ended in good order
        deadline = time.monotonic() + FORMER_SERVER_SECONDS
        while former := self._former_server():
            if time.monotonic() > deadline:
                raise EmbeddedError(
                    f"A PostgreSQL server (process {former}) still works on "
                    f"{self.places.postgres}: stop it with `kill -INT {former}`."
                )
            time.sleep(0.02)

    def _former_server(self) -> int | None:
        """A process that still has the cluster open; 0.01 s, and only where there is /proc."""
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                if (entry / "cwd").readlink() == self.places.postgres:
                    return int(entry.name)
            except OSError:
                continue
        return None

    def _users(self) -> list[str]:
        """Users who may connect as the database user: who starts the servers, and their account."""
        try:
            names = {pwd.getpwuid(os.geteuid()).pw_name}
        except KeyError:
            raise EmbeddedError(
                f"The user id {os.geteuid()} has no name on this system, and PostgreSQL wants one: "
                "add it to /etc/passwd, or use a server of your own with DATABASE_URL."
            ) from None
        return sorted(names | ({self.places.account.name} if self.places.account else set()))

    def _write_access_rules(self, users: Sequence[str]) -> None:
        lines = "".join(f'gatepost "{name}" {USER}\n' for name in users)
        (self.places.postgres / "pg_ident.conf").write_text(lines)
        (self.places.postgres / "pg_hba.conf").write_text("local all all peer map=gatepost\n")
