"""The embedded Valkeys: a unix socket only, every change appended to a file.

One carries doorbells, hints and the cache; `HotStore` keeps the state of hot agents.
"""

import signal
import socket
import subprocess
import time
from collections.abc import Callable

from .process import processes
from .process.folders import EmbeddedError, Folders
from .process.library import valkey_program


class Valkey:
    """One server in the data folder."""

    name = "Valkey"
    options: tuple[str, ...] = ("--appendfsync", "everysec")

    def __init__(self, places: Folders) -> None:
        self.places = places
        self.folder, self.socket = places.valkey, places.valkey_socket
        self.log = places.logs / "valkey.log"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> subprocess.Popen[bytes]:
        """Start the server; see `wait`."""
        self._wait_for_former_server()
        self.process = processes.start(
            [
                valkey_program(self.places),
                *("--port", "0"),
                *("--unixsocket", self.socket),
                *("--unixsocketperm", "700"),
                *("--dir", self.folder),
                *("--appendonly", "yes"),
                *("--save", ""),
                *("--daemonize", "no"),
                *("--loglevel", "notice"),
                *("--maxmemory-policy", "noeviction"),
                *self.options,
            ],
            log=self.log,
            account=self.places.account,
            cwd=self.folder,
            death_signal=signal.SIGTERM,
        )
        return self.process

    def wait(self, *, timeout: float = 60.0, check: Callable[[], None] = lambda: None) -> None:
        """Return when the server answers; raises EmbeddedError when it ends instead."""
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            check()
            if self.process is not None and self.process.poll() is not None:
                break
            if self._answers():
                return
            time.sleep(0.01)
        raise EmbeddedError(f"{self.name} did not start; its log says why: {self.log}")

    def stop(self, *, timeout: float = 3.0) -> None:
        """Stop with its file written; killed after `timeout` seconds."""
        if self.process is None or self.process.poll() is not None:
            return
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(timeout)

    def _answers(self) -> bool:
        # Five bytes by hand: the client library alone would cost 70 ms of every start.
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(1)
            try:
                client.connect(str(self.socket))
                client.sendall(b"PING\r\n")
                return client.recv(16).startswith(b"+PONG")
            except OSError:
                return False

    def _wait_for_former_server(self) -> None:
        """Two servers on one append file would spoil it: wait until the former one is gone."""
        deadline = time.monotonic() + 5
        while self._answers():
            if time.monotonic() > deadline:
                raise EmbeddedError(
                    f"Another Valkey still answers on {self.socket}: stop it first."
                )
            time.sleep(0.02)


class HotStore(Valkey):
    """The Valkey of hot state: an append is answered when it is on the disk, nothing is evicted."""

    name = "Hot store"
    options = (
        *("--appendfsync", "always"),
        *("--maxmemory", "256mb"),
        # It wakes once a second where nobody calls, ten times otherwise.
        *("--hz", "1"),
    )

    def __init__(self, places: Folders) -> None:
        super().__init__(places)
        self.folder, self.socket = places.hot, places.hot_socket
        self.log = places.logs / "hot-store.log"
