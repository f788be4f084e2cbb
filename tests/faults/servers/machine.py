"""A machine of a test: folders and a network of its own, and ways to the servers that all share.

Each way is a port of the machine, so that it alone can be parted from one server or from all.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

from dashboard.operate.embedded.postgres import Postgres
from dashboard.operate.embedded.valkey import HotStore, Valkey

from .network import Network
from .proxy import Proxy


class Machine:
    """Where processes of the product are told to run.

    With a network, `ports` are those of servers outside that it reaches as well, under the same
    numbers; without one it reaches these past all ways.
    """

    def __init__(
        self,
        name: str,
        home: Path,
        *,
        postgres: Postgres,
        valkey: Valkey,
        hot: HotStore | None = None,
        network: Network | None = None,
        ports: Mapping[str, int] | None = None,
    ) -> None:
        self.name, self.home, self.network = name, home, network
        self.make_folders()
        self.postgres = Proxy(postgres.places.run / ".s.PGSQL.5432", listens=network)
        self.valkey = Proxy(valkey.places.valkey_socket, listens=network)
        self.ways = {"postgres": self.postgres, "valkey": self.valkey}
        if hot is not None:
            self.ways["hot"] = Proxy(hot.places.hot_socket, listens=network)
        if network is not None:
            for what, port in (ports or {}).items():
                self.ways[what] = Proxy(port, port, listens=network)

    def make_folders(self) -> None:
        (self.home / "tmp").mkdir(parents=True)

    @property
    def environment(self) -> dict[str, str]:
        """What its processes are told of itself and of its ways."""
        hot = {}
        if "hot" in self.ways:
            hot["GATEPOST_HOT_URL"] = f"redis://127.0.0.1:{self.ways['hot'].port}/0"
        return hot | {
            "DATABASE_URL": f"postgresql://gatepost@127.0.0.1:{self.postgres.port}/gatepost",
            "REDIS_URL": f"redis://127.0.0.1:{self.valkey.port}/0",
            "GATEPOST_DATA": str(self.home / "data"),
            "TMPDIR": str(self.home / "tmp"),
            "HOME": str(self.home),
            # A server that cannot be reached is given up after 5 s here, in place of 32.
            "GATEPOST_ANSWER_SECONDS": "5",
            "HOST_NAME": self.name,
        }

    def part(self, *ways: str) -> None:
        """Part it from these servers, or from all."""
        for what in ways or self.ways:
            self.ways[what].part()

    def join(self) -> None:
        for proxy in self.ways.values():
            proxy.join()

    def erase(self) -> None:
        """Its disk is gone."""
        shutil.rmtree(self.home)

    def close(self) -> None:
        for proxy in self.ways.values():
            proxy.close()
        if self.network is not None:
            self.network.close()
