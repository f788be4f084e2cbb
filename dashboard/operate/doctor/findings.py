"""A finding: how bad, what was measured, what to do; and what the checks share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from django.conf import settings
from pydantic import BaseModel

from checkpoints import queries
from checkpoints.hot.persistence import Persistence
from checkpoints.queries.installation.server import ServerRow
from checkpoints.views import WorkerRow
from dashboard.operate.embedded import web_address
from dashboard.operate.embedded.checks import is_loopback

Level = Literal["ok", "note", "warning", "wrong"]
LEVELS: tuple[Level, ...] = ("ok", "note", "warning", "wrong")
_HERE = {"localhost", "127.0.0.1", "[::1]", "::1", "testserver"}


class Finding(BaseModel):
    """One thing looked at; `do` is a sentence unless all is well."""

    level: Level
    part: str = ""
    name: str
    value: str
    do: str = ""


def ok(name: str, value: object) -> Finding:
    """As it should be."""
    return Finding(level="ok", name=name, value=str(value))


def note(name: str, value: object, do: str = "") -> Finding:
    """Good to know."""
    return Finding(level="note", name=name, value=str(value), do=do)


def warning(name: str, value: object, do: str) -> Finding:
    """Works, and should be changed."""
    return Finding(level="warning", name=name, value=str(value), do=do)


def wrong(name: str, value: object, do: str) -> Finding:
    """Does not work, or not safely."""
    return Finding(level="wrong", name=name, value=str(value), do=do)


@dataclass
class Seen:
    """Results of earlier checks that later ones need. `has` lists the parts that answer."""

    url: str = ""
    deploy: bool = False  # judged as an installation that others reach
    has: set[str] = field(default_factory=set)
    answered: ServerRow | None = None
    clock_off: float = 0.0  # seconds that this host is ahead of the database
    valkey: dict[str, Any] = field(default_factory=dict)
    hot_store: Persistence | None = None

    @property
    def server(self) -> ServerRow:
        """The database server, for checks that need one."""
        if self.answered is None:
            raise RuntimeError("a check that looks at the database must say that it needs it")
        return self.answered

    @property
    def server_start_ahead(self) -> float:
        """Seconds by which the server's start lies in the future: its clock stepped back since."""
        if self.answered is None:
            return 0.0
        return max(0.0, (self.answered.started_at - self.answered.now).total_seconds())

    @property
    def data(self) -> Path:
        """The data folder."""
        return Path(settings.GATEPOST_DATA)

    @property
    def own_database(self) -> bool:
        """True if the database is not the one of the data folder."""
        return str(settings.DATABASES["default"].get("HOST", "")) != str(settings.PLACES.run)

    @property
    def own_valkey(self) -> bool:
        """True if Valkey is not the one of the data folder."""
        return str(settings.PLACES.valkey_socket) not in settings.REDIS_URL

    @property
    def own_hot_store(self) -> bool:
        """True if the hot store is not the one of the data folder."""
        return str(settings.PLACES.hot_socket) not in settings.HOT_URL

    @property
    def exposed(self) -> bool:
        """True if other machines are supposed to open the pages."""
        if self.deploy:
            return True
        listens = web_address.noted_host(self.data)
        return not _HERE.issuperset(settings.ALLOWED_HOSTS) or bool(
            listens and not is_loopback(listens)
        )

    @cached_property
    def workers(self) -> list[WorkerRow]:
        """Workers that give signs of life."""
        return [worker for worker in queries.workers() if worker.alive and worker.slots]

    @cached_property
    def standbys(self) -> list[WorkerRow]:
        """Processes that sweep and send while no worker lives; they have no slot."""
        return [worker for worker in queries.workers() if worker.alive and not worker.slots]


@dataclass(frozen=True, slots=True)
class Check:
    """One look; it is left out while something that it needs does not answer."""

    part: str
    name: str
    look: Callable[[Seen], Iterable[Finding]]
    needs: str = ""
