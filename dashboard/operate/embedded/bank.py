"""The test bank that the demo's payments are made at: a process of its own on a unix socket."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable

from checkpoints.outbound.own_secrets import is_own
from dashboard.configuration.import_path import agents_folder

from .process import processes
from .process.folders import EmbeddedError, Folders


class Bank:
    """One bank in the data folder, its ledger beside it."""

    name = "bank"
    stop_signal = signal.SIGTERM

    def __init__(self, places: Folders) -> None:
        self.places = places
        self.log = places.logs / "bank.log"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> subprocess.Popen[bytes]:
        """Start it; see `wait`."""
        self.process = processes.start(
            [
                # Without site-packages: it needs none of them and starts in half the time.
                *(sys.executable, "-S", "-m", "gatepost_agents.testbank"),
                *("--ledger", self.places.bank_ledger),
                *("--socket", self.places.bank_socket),
            ],
            log=self.log,
            env={
                **{name: value for name, value in os.environ.items() if not is_own(name)},
                "PYTHONPATH": str(agents_folder()),
            },
            cwd=self.places.data,
        )
        return self.process

    def wait(self, *, timeout: float = 30.0, check: Callable[[], None] = lambda: None) -> None:
        """Return when it listens; raises EmbeddedError when it ends instead."""
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            check()
            if self.process is not None and self.process.poll() is not None:
                break
            if self._listens():
                return
            time.sleep(0.01)
        raise EmbeddedError(f"The test bank did not start; its log says why: {self.log}")

    def _listens(self) -> bool:
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(1)
            try:
                client.connect(str(self.places.bank_socket))
            except OSError:
                return False
        return True
