"""Worker and web hosts that share PostgreSQL, Valkey and a bucket, and no folder."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch
from uuid import UUID

import httpx
import psycopg
from django.conf import settings
from django.core.management import call_command
from django.test import override_settings
from pytest_django import DjangoDbBlocker

from dashboard.operate.embedded.postgres import Postgres
from dashboard.operate.embedded.process.folders import folders, prepare
from dashboard.operate.embedded.valkey import Valkey
from tests.faults.bench import AGENTS, Worker
from tests.faults.web import Web
from tests.support import buckets
from tests.support.cast import make_cast
from tests.support.servers import FAST

from .counter import Counter, counter
from .machine import Machine
from .own_servers import elsewhere

OF_THIS_RUN = ("GATEPOST_DATABASE", "GATEPOST_FILES", "REDIS_URL")


class Host(Machine):
    """A machine that runs one process of the product."""

    worker: Worker | None = None
    web: Web | None = None

    @property
    def process(self) -> Worker:
        assert self.worker is not None
        return self.worker

    @property
    def address(self) -> str:
        assert self.web is not None
        return self.web.address

    def lose(self) -> None:
        """The machine is gone, with its folders."""
        self.stop()
        self.erase()

    def stop(self) -> None:
        for part in (self.worker, self.web):
            if part is not None:
                part.kill()
        self.close()

    def log(self) -> str:
        """The end of what its process wrote."""
        logs = [part.log for part in (self.worker, self.web) if part is not None]
        texts = [log.read_text(errors="replace")[-1500:] for log in logs if log.exists()]
        return f"{self.name}: {''.join(texts)}\n"


@dataclass
class Hosts:
    """The hosts, what they share, and the counter that is outside of all."""

    folder: Path
    postgres: Postgres
    valkey: Valkey
    files: dict[str, str]
    counter: Counter
    workspace: UUID
    all: dict[str, Host] = field(default_factory=dict)

    def host(self, name: str) -> Host:
        """A new host that runs nothing yet."""
        self.all[name] = Host(name, self.folder / name, postgres=self.postgres, valkey=self.valkey)
        return self.all[name]

    def environment(self, host: Host, **more: str) -> dict[str, str]:
        """What the process of a host is told."""
        return {
            **host.environment,
            **self.files,
            "GATEPOST_SECRET_KEY": settings.SECRET_KEY,
            "GATEPOST_AGENTS": "errand_agents",
            "COUNTER_URL": self.counter.url,
            **more,
        }

    def start_worker(self, name: str, *, slots: int, **more: str) -> Host:
        made = self.host(name)
        shutil.copy(AGENTS / "errand_agents.py", made.home)
        environment = self.environment(made, **more)
        made.worker = Worker(made.home, name, slots=slots, environment=environment)
        return made

    def start_web(self, name: str, **more: str) -> Host:
        made = self.host(name)
        made.web = Web(made.home, **self.environment(made, **more))
        return made

    def ask(self, sql: str, *params: Any) -> list[tuple[Any, ...]]:
        """Rows, beside the product and past the hosts' ways."""
        with psycopg.connect(self.postgres.address()) as server:
            return server.execute(sql, params).fetchall()  # type: ignore[arg-type]

    def ready(self, web: Host) -> dict[str, Any]:
        """What readiness of a web host says; {} while it does not answer."""
        try:
            payload: dict[str, Any] = httpx.get(f"{web.address}/readyz", timeout=10).json()
        except (httpx.TransportError, ValueError):
            return {}
        return payload

    def logs(self) -> str:
        return "".join(host.log() for host in self.all.values())

    def stop(self) -> None:
        for host in self.all.values():
            host.stop()


def first_set_up(url: str) -> UUID:
    """The tables and the cast of this code; the workspace."""
    call_command("migrate", verbosity=0)
    return make_cast().workspace


@contextmanager
def in_bucket(home: Path) -> Iterator[dict[str, str]]:
    """Files of all hosts and of this process lie in a bucket; how a host is told."""
    (home / "bucket").mkdir()
    with buckets.seaweedfs(home / "bucket") as url, buckets.files_on(url) as environment:
        yield environment


@contextmanager
def in_folder(home: Path) -> Iterator[dict[str, str]]:
    """The same in a folder that all hosts mount."""
    with override_settings(MEDIA_ROOT=str(home / "files")):
        yield {"GATEPOST_FILES": str(home / "files")}


@contextmanager
def own_hosts(
    blocker: DjangoDbBlocker,
    folder: Path,
    *,
    files: Callable[[Path], AbstractContextManager[dict[str, str]]] = in_bucket,
    set_up: Callable[[str], UUID] = first_set_up,
) -> Iterator[Hosts]:
    """Servers, files and a counter, and no host yet; this process reads them as well.

    `set_up` is called with the address of the empty database.
    """
    home = Path(tempfile.mkdtemp(prefix="gp-hosts-", dir="/tmp"))
    home.chmod(0o711 if os.geteuid() == 0 else 0o700)
    data = home / "data"
    places = folders(data)
    prepare(places)
    postgres, valkey = Postgres(places, options=FAST), Valkey(places)
    with ExitStack() as stack, blocker.unblock():
        stack.callback(shutil.rmtree, home, ignore_errors=True)
        for server in (postgres, valkey):
            server.start()
            stack.callback(server.stop)
        environment = stack.enter_context(files(home))
        stack.enter_context(patch.dict(os.environ))
        for name in OF_THIS_RUN:
            os.environ.pop(name, None)
        postgres.wait()
        valkey.wait()
        postgres.create_database()
        stack.enter_context(elsewhere(data, places.run))
        workspace = set_up(f"postgresql:///gatepost?host={places.run}&user=gatepost")
        counted = stack.enter_context(counter())
        made = Hosts(folder, postgres, valkey, environment, counted, workspace)
        stack.callback(made.stop)
        yield made
