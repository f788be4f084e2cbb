"""The PostgreSQL of plays: one server per process, started by the first play, gone with its owner.

The store writes to Django's default connection. A play puts its own in that place for the time of
one call, so that an author's nodes see the database of their own project, where they have one, and
no settings are needed where they have none.
"""

from __future__ import annotations

import atexit
import itertools
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from datetime import UTC
from pathlib import Path
from typing import Any, Final

import psycopg
from django.core.exceptions import ImproperlyConfigured
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.backends.postgresql.base import DatabaseWrapper, ServerBindingCursor
from django.db.backends.postgresql.psycopg_any import get_adapters_template
from django.db.backends.utils import CursorWrapper

import checkpoints
from checkpoints.errors import GatepostError

from ..step.event_loops import in_own_thread, loop_is_running

ROOT: Final = Path(checkpoints.__file__).resolve().parents[1]
DATABASE: Final = "play_1"
PROGRAM: Final = "dashboard.operate.embedded.throwaway"
_SETTINGS: Final[dict[str, Any]] = {
    "USER": "gatepost",
    "PASSWORD": "",
    "PORT": "",
    "TIME_ZONE": None,
    "CONN_MAX_AGE": None,
    "CONN_HEALTH_CHECKS": False,
    "AUTOCOMMIT": True,
    "ATOMIC_REQUESTS": False,
    "OPTIONS": {},
    "TEST": {},
}
_CLOCK: Final = (
    "SELECT set_config('gatepost.ahead', %s, false), set_config('search_path', %s, false)"
)


class PlayCursor(CursorWrapper):
    """A cursor for statements without Django's registry of apps, which a play does not need."""

    def execute(self, sql: Any, params: Any = None) -> Any:
        """Execute one statement; Django's errors."""
        self.db.validate_no_broken_transaction()
        with self.db.wrap_database_errors:
            return self.cursor.execute(sql, params)

    def executemany(self, sql: Any, param_list: Any) -> Any:
        """Execute one statement for each set of parameters; Django's errors."""
        self.db.validate_no_broken_transaction()
        with self.db.wrap_database_errors:
            return self.cursor.executemany(sql, param_list)


class PlayConnection(DatabaseWrapper):
    """A connection of a play: it reads no settings, and nothing of it reaches the outside."""

    timezone = UTC
    timezone_name = "UTC"
    queries_logged = False
    ahead = 0.0

    def ensure_connection(self) -> None:
        """Connect, also where a test runner lets tests reach no database of their project."""
        if self.connection is None:
            with self.wrap_database_errors:
                self.connect()

    def get_connection_params(self) -> dict[str, Any]:
        """Parameters for psycopg; Django's own ask the settings for the time zone."""
        return {
            "dbname": self.settings_dict["NAME"],
            "user": self.settings_dict["USER"],
            "host": self.settings_dict["HOST"],
            "client_encoding": "UTF8",
            "cursor_factory": ServerBindingCursor,
            "context": get_adapters_template(True, UTC),
            "prepare_threshold": 5,
        }

    def create_cursor(self, name: str | None = None) -> Any:
        """A cursor whose times are aware."""
        cursor = self.connection.cursor(name) if name else self.connection.cursor()
        cursor.tzinfo_factory = lambda offset: UTC
        return cursor

    def make_cursor(self, cursor: Any) -> Any:
        """The cursor that statements get."""
        return PlayCursor(cursor, self)

    def on_commit(self, func: Callable[[], Any], robust: bool = False) -> None:
        """Do nothing: no worker and no page looks at a play."""

    def move_clock(self, ahead: float) -> None:
        """Let statements read a clock that is this many seconds ahead."""
        if ahead != self.ahead:
            path = "play, pg_catalog, public" if ahead else '"$user", public'
            with self.cursor() as cursor:
                cursor.execute(_CLOCK, (f"{ahead} seconds", path))
            self.ahead = ahead


class Server:
    """The server process, and the one connection to it that the threads of this process share."""

    def __init__(self) -> None:
        path = os.pathsep.join([str(ROOT), *filter(None, sys.path)])
        self.process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-m", PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": path},
            start_new_session=True,  # Ctrl-C in a notebook is not meant for it
        )
        self._lock = threading.RLock()
        self._host = ""
        self._connections: dict[str, PlayConnection] = {}
        self._numbers = itertools.count(2)
        self._pid = os.getpid()
        atexit.register(self._stop, self._pid)

    def _stop(self, owner: int) -> None:
        """Let the server end with its owner; a forked child leaves it alone."""
        if os.getpid() != owner:
            return
        for connection in self._connections.values():
            connection.close()
        self.process.communicate()

    @property
    def socket_folder(self) -> str:
        """The folder of the server's socket; waits until the server works."""
        if not self._host:
            output: Any = self.process.stdout
            self._host = output.readline().decode().strip()
            if not self._host:
                _, why = self.process.communicate()
                raise GatepostError(f"No database for the play could start: {why.decode().strip()}")
        return self._host

    def _connected(self, database: str) -> PlayConnection:
        """The connection of this process to a database; a forked child gets its own."""
        if self._pid != os.getpid():
            self._pid, self._connections = os.getpid(), {}
        if database not in self._connections:
            wanted = _SETTINGS | {"HOST": self.socket_folder, "NAME": database}
            self._connections[database] = PlayConnection(wanted, "play")
            self._connections[database].inc_thread_sharing()
        return self._connections[database]

    def create_database(self) -> str:
        """Create a database for plays that may share none, since their ids are recorded ones."""
        with self._lock:
            name = f"play_{next(self._numbers)}"
            address = {"host": self.socket_folder, "dbname": "postgres", "user": _SETTINGS["USER"]}
            with psycopg.connect(**address, autocommit=True) as connection:
                connection.execute(f"CREATE DATABASE {name} TEMPLATE gatepost STRATEGY FILE_COPY")
        return name

    def call[T](self, database: str, ahead: float, function: Callable[[], T]) -> T:
        """Call what reads or writes the default connection, with that of plays in its place."""
        if loop_is_running():
            return in_own_thread(lambda: self._call(database, ahead, function))
        return self._call(database, ahead, function)

    def _call[T](self, database: str, ahead: float, function: Callable[[], T]) -> T:
        with self._lock:
            own = self._connected(database)
            former = _default()
            if former is own:  # a call within a call
                return function()
            connections[DEFAULT_DB_ALIAS] = own
            try:
                own.move_clock(ahead)
                return function()
            finally:
                if former is None:
                    del connections[DEFAULT_DB_ALIAS]
                else:
                    connections[DEFAULT_DB_ALIAS] = former


def _default() -> Any:
    """The default connection of the author's project in this thread; None without a project."""
    try:
        return connections[DEFAULT_DB_ALIAS]
    except ImproperlyConfigured:
        return None


_starting = threading.Lock()
_servers: list[Server] = []


def server() -> Server:
    """The server of this process; the first call starts it and does not wait."""
    with _starting:
        if not _servers:
            _servers.append(Server())
        return _servers[0]
