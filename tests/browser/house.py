"""The real product on a database of its own, and entry points into it that are no browser."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

from django.core.files.uploadedfile import SimpleUploadedFile

from dashboard.kit.pages.uploads import upload
from dashboard.operate.embedded.arguments import from_command_line
from dashboard.operate.embedded.parts import Web
from dashboard.operate.embedded.process import processes
from dashboard.threads.start import start_thread
from tests.faults.bench import Case, Field
from tests.support import decisions
from tests.support.cast import Cast
from tests.support.site import Site, started_site

# The leases are short here, but a step that draws may hold its interpreter for a second.
SETTINGS = {
    "GATEPOST_LEASE_SECONDS": "6",
    "GATEPOST_SWEEP_SECONDS": "0.5",
    "GATEPOST_UNDO_PAUSES": "0.3,0.6",
    # Of those that ship only the one that these tests use: each costs a worker time to load.
    "GATEPOST_AGENTS": "tests.unit.workers.graphs.samples,tests.faults.agents.own_agents,"
    "gatepost_agents.market_research,gatepost_agents.docs_chat,gatepost_agents.connect_four",
    "GATEPOST_POLL_SECONDS": "600",  # so that only pushes can move a page
    # A push service of a test answers at this one address.
    "GATEPOST_WEBHOOK_HTTP": "true",
    "GATEPOST_WEBHOOK_NETWORKS": "127.0.0.2/32",
    "GATEPOST_WEBHOOK_PORTS": "0",
}
LEAVE = "DJANGO_ALLOW_ASYNC_UNSAFE"


@contextmanager
def without_leave() -> Iterator[None]:
    """Our own leave to query beside a browser's event loop is none for children started here."""
    former = os.environ.pop(LEAVE, None)
    try:
        yield
    finally:
        if former is not None:
            os.environ[LEAVE] = former


@contextmanager
def site(**more: str) -> Iterator[Site]:
    """Web server and a worker with one slot, `slots="0"` for none; `more` is their environment."""
    slots = int(more.pop("slots", "1"))
    started = started_site(slots=slots, **SETTINGS | more)
    with without_leave():
        entered = started.__enter__()
    try:
        yield entered
    finally:
        started.__exit__(None, None, None)


@dataclass
class House:
    """What the tests share: people, folders, and the service at `url`."""

    cast: Cast
    site: Site
    folder: Path
    published: Path
    field: Field

    @property
    def url(self) -> str:
        return self.site.url

    def kill_web(self) -> None:
        """kill -9 of the web server."""
        processes.signal_group(self.site.web.pid, signal.SIGKILL)
        self.site.web.wait()

    def start_web(self) -> None:
        """Start it again where it was; it answers a little later."""
        port = self.url.rpartition(":")[2]
        flags = ["--data-dir", os.environ["GATEPOST_DATA"], "--port", port]
        with without_leave():
            self.site.web = Web(from_command_line(flags)).start()

    def play(self, *steps: str, hold: tuple[str, ...] = ()) -> Case:
        """Start a thread of the agent `script`; see tests.faults.agents.own_agents."""
        return self.field.play(*steps, hold=hold)

    def start(self, agent: str = "market-research", title: str = "", **values: Any) -> Case:
        """Start a thread as the operator, past the browser."""
        who = self.cast.actor("operator")
        thread = start_thread(who, agent=agent, input=values, title=title or agent)
        return self.case(thread)

    def case(self, thread: UUID | str) -> Case:
        """A thread as the database knows it."""
        return Case(UUID(str(thread)), self.folder, self.cast.workspace)

    def upload(self, path: Path) -> dict[str, Any]:
        """Store a file as the operator; the reference for a state."""
        file = SimpleUploadedFile(path.name, path.read_bytes(), "text/csv")
        return upload(self.cast.actor("operator"), file)

    def decide(self, case: Case, verdict: str, comment: str = "") -> None:
        """Decide the open request as the manager."""
        row = case.open()
        who = self.cast.actor("manager")
        decisions.decide(who, row.id, verdict, row.proposal_hash, comment, None)

    def files(self) -> dict[str, bytes]:
        """Everything in the published folder but manifests: {"slug/name": content}."""
        return {
            "/".join(path.parts[-2:]): path.read_bytes()
            for path in sorted(self.published.glob("*/*/*"))
            if path.name != "manifest.json"
        }

    def login(self, name: str) -> dict[str, str]:
        """The cookie of a new login of this person."""
        return self.cast.cookie(name)
