"""Servers that a hazard may stop: PostgreSQL and Valkey of their own, a web process, a worker.

Those of the test run have other guests.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import psycopg
from django.conf import settings
from django.core.management import call_command
from django.db import connection, connections
from psycopg.conninfo import conninfo_to_dict
from pytest_django import DjangoDbBlocker

from checkpoints import queries
from dashboard.configuration.database import settings_of
from dashboard.identity import tokens
from dashboard.operate.embedded.postgres import Postgres
from dashboard.operate.embedded.process.folders import folders, prepare
from dashboard.operate.embedded.valkey import Valkey
from tests.faults.bench import AGENTS, Worker
from tests.faults.web import Web
from tests.support.cast import Cast, make_cast
from tests.support.servers import FAST

POOL = 3
ANSWERED = 12.0  # seconds for a refusal: up to 5 for a connection and 3 for a lock, and a crowd


@dataclass
class Ground:
    """Two servers that can be stopped, a web process on them and an operator's token."""

    postgres: Postgres
    valkey: Valkey
    web: Web
    worker: Worker
    cast: Cast
    token: str
    folder: Path

    def http(self) -> httpx.Client:
        headers = {"Authorization": f"Bearer {self.token}"}
        return httpx.Client(base_url=self.web.address, timeout=20, headers=headers)

    def start(self, http: httpx.Client, agent: str = "script", **values: Any) -> httpx.Response:
        return http.post("/api/v1/threads/", json={"agent": agent, "input": values})

    def status(self, thread: str) -> str:
        result = queries.thread(UUID(thread), workspace=self.cast.workspace)
        return str(result.status)

    def session(self) -> psycopg.Connection[Any]:
        """A connection of somebody else."""
        return psycopg.connect(self.postgres.address())


@contextmanager
def elsewhere(data: Path, run: Path, database_url: str = "") -> Iterator[None]:
    """This process and its children work with the servers of another folder.

    `database_url` names the database where it is not the embedded one of that folder.
    """
    former = dict(connection.settings_dict)
    ours = {
        "GATEPOST_DATA": str(data),
        "GATEPOST_DATABASE": "gatepost",
        "GATEPOST_SECRET_KEY": settings.SECRET_KEY,  # the other folder would have one of its own
    }
    theirs: dict[str, Any] = {"HOST": str(run), "NAME": "gatepost"}
    if database_url:
        ours["DATABASE_URL"] = database_url
        theirs = settings_of(conninfo_to_dict(database_url))
        theirs["OPTIONS"] = former["OPTIONS"] | theirs["OPTIONS"]
    environment = {name: os.environ.get(name) for name in ours}
    connections.close_all()
    connection.settings_dict |= theirs
    os.environ |= ours
    try:
        yield
    finally:
        connections.close_all()
        connection.settings_dict |= {name: former[name] for name in theirs}
        for name, value in environment.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


@contextmanager
def own_ground(
    blocker: DjangoDbBlocker,
    folder: Path,
    *,
    slots: int = 1,
    connections_max: int = 24,
    environment: dict[str, str] | None = None,
) -> Iterator[Ground]:
    """Servers, web process and worker; what follows finds the servers of the test run again.

    `environment` is what the worker is told beside the usual.
    """
    data = Path(tempfile.mkdtemp(prefix="gatepost-away-", dir="/tmp"))
    data.chmod(0o711 if os.geteuid() == 0 else 0o700)
    places = folders(data)
    prepare(places)
    shutil.copy(AGENTS / "own_agents.py", folder)
    full = (
        f"max_connections={connections_max}",
        "superuser_reserved_connections=0",
        "reserved_connections=0",
    )
    saved = [option for option in FAST if "max_connections" not in option]
    postgres, valkey = Postgres(places, options=(*saved, *full)), Valkey(places)
    with ExitStack() as stack, blocker.unblock():
        stack.callback(shutil.rmtree, data, ignore_errors=True)
        for server in (postgres, valkey):
            server.start()
            stack.callback(server.stop)
        postgres.wait()
        valkey.wait()
        postgres.create_database()
        stack.enter_context(elsewhere(data, places.run))
        call_command("migrate", verbosity=0)
        cast = make_cast()
        token = tokens.make(cast.users["operator"], made_by="user:0")[1]
        os.environ["GATEPOST_POOL"] = str(POOL)
        web = Web(folder)
        del os.environ["GATEPOST_POOL"]
        stack.callback(web.kill)
        worker = Worker(folder, "away", slots=slots, environment=environment)
        stack.callback(worker.kill)
        worker.wait_ready()
        yield Ground(postgres, valkey, web.wait_ready(), worker, cast, token, folder)
    # What follows in this run finds the servers it expects.
    assert str(connection.settings_dict["HOST"]) == str(settings.PLACES.run)


def unavailable(answer: httpx.Response) -> None:
    """503 as a problem that says when to come again."""
    assert answer.status_code == 503, answer.text[:300]
    assert answer.headers["content-type"] == "application/problem+json"
    assert int(answer.headers["retry-after"]) > 0
    assert answer.json()["type"] == "urn:gatepost:problem:unavailable"
    assert answer.json()["detail"]
    assert answer.elapsed.total_seconds() < ANSWERED
