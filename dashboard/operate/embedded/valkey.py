"""The embedded Valkeys: a unix socket only, every change appended to a file.

One carries doorbells, hints and the cache; `HotStore` keeps the state of hot agents.
"""

import signal
import socket
import subprocess
import time
from collections.abc import Callable

from . import damaged_files
from .damaged_files import Damage
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
                # It wakes once a second where nobody calls, ten times otherwise.
                *("--hz", "1"),
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
    """The Valkey of hot state: an append is answered when it is on the disk, nothing is evicted.

    Damaged files are set aside before a start, and where a start refused them before the next one.
    """

    name = "Hot store"
    options = (
        *("--appendfsync", "always"),
        *("--maxmemory", "256mb"),
    )

    def __init__(self, places: Folders, *, report: Callable[[str], None] = lambda _: None) -> None:
        super().__init__(places)
        self.folder, self.socket = places.hot, places.hot_socket
        self.log = places.logs / "hot-store.log"
        self.report = report

    def start(self) -> subprocess.Popen[bytes]:
        """Start the server, on files that it can read; raises EmbeddedError if none can be made."""
        reason = self._refusal() or damaged_files.unnoticed(self.folder)
        try:
            if reason:
                self._report(damaged_files.set_aside(self.folder, reason))
            elif damage := damaged_files.cut_zeros(self.folder):
                self._report(damage)
        except OSError as error:
            raise EmbeddedError(
                f"The damaged files of the hot store could not be set aside: {error}"
            ) from error
        return super().start()

    def wait(
        self,
        *,
        timeout: float = 60.0,
        check: Callable[[], None] = lambda: None,
        again: Callable[[], object] | None = None,
    ) -> None:
        """Return when the server answers; `again` starts it where it refused its files."""
        try:
            super().wait(timeout=timeout, check=check)
        except EmbeddedError:
            if not self._refusal():
                raise
            (again or self.start)()
            super().wait(timeout=timeout, check=check)

    def _refusal(self) -> str:
        return damaged_files.refusal(self.log, self.process.poll()) if self.process else ""

    def _report(self, damage: Damage) -> None:
        with processes.open_log(self.log) as log:
            log.write(f"{damage.at:%Y-%m-%d %H:%M:%S} UTC gatepost: {damage.sentence}\n".encode())
        self.report(f"Hot store: {damage.sentence}")
