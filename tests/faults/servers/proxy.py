"""A TCP port in front of a server: its connections can be cut, or carry nothing."""

from __future__ import annotations

import socket
import struct
import threading
from dataclasses import dataclass, field
from pathlib import Path

from .network import Network, entered

RESET = struct.pack("ii", 1, 0)  # SO_LINGER: close with a reset, as a broken network does


@dataclass(eq=False)
class Line:
    """One connection and its two ends."""

    client: socket.socket
    server: socket.socket

    def cut(self) -> None:
        for end in (self.client, self.server):
            try:
                end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            end.close()


@dataclass
class Proxy:
    """Passes bytes both ways between a port of `listens` and a unix socket or port of `connects`.

    Both are this process's network unless they are given; port 0 takes a free one. `cuts` counts
    the connections that were cut, `parted` what did not get through.
    """

    target: Path | int
    port: int = 0
    listens: Network | None = None
    connects: Network | None = None
    cuts: int = 0
    swallowed: int = 0
    parted: int = 0
    _lines: set[Line] = field(default_factory=set)
    _swallow: bool = False

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._joined = threading.Event()
        self._joined.set()
        with entered(self.listens):
            self._listener = socket.create_server(("127.0.0.1", self.port))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> int:
        """Cut all connections now; how many there were."""
        with self._lock:
            lines, self._lines = self._lines, set()
        for line in lines:
            line.cut()
        self.cuts += len(lines)
        return len(lines)

    def swallow(self) -> None:
        """Cut the next connection that the server answers on, in place of its answer.

        What was asked has been done by then, and nobody is told.
        """
        self._swallow = True

    def part(self) -> None:
        """Let nothing through in either direction, and say so to nobody: a network in two parts."""
        self._joined.clear()

    def join(self) -> None:
        """Let all through again, as TCP does: what was sent meanwhile arrives late."""
        self._joined.set()

    def close(self) -> None:
        """No new connections; the old ones are cut."""
        self._listener.close()
        self.cut()
        self.join()

    def _wait_joined(self) -> None:
        if not self._joined.is_set():
            self.parted += 1
            self._joined.wait()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self._wait_joined()
            try:
                server = self._connect()
            except OSError:
                client.close()
                continue
            line = Line(client, server)
            with self._lock:
                self._lines.add(line)
            for ends in ((client, server, False), (server, client, True)):
                threading.Thread(target=self._pass, args=(line, *ends), daemon=True).start()

    def _connect(self) -> socket.socket:
        if isinstance(self.target, int):
            with entered(self.connects):
                return socket.create_connection(("127.0.0.1", self.target))
        server = socket.socket(socket.AF_UNIX)
        try:
            server.connect(str(self.target))
        except OSError:
            server.close()
            raise
        return server

    def _pass(self, line: Line, source: socket.socket, goal: socket.socket, answers: bool) -> None:
        try:
            while data := source.recv(65536):
                if answers and self._swallow:
                    with self._lock:
                        mine, self._swallow = self._swallow, False
                    if mine:
                        self.swallowed += 1
                        break
                self._wait_joined()
                goal.sendall(data)
        except OSError:
            pass
        with self._lock:
            self._lines.discard(line)
        line.cut()
