"""A TCP port in front of a server's unix socket, whose connections can be cut at will."""

from __future__ import annotations

import socket
import struct
import threading
from dataclasses import dataclass, field
from pathlib import Path

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
    """Passes bytes both ways. `cuts` counts the connections that were cut."""

    target: Path
    cuts: int = 0
    swallowed: int = 0
    _lines: set[Line] = field(default_factory=set)
    _swallow: bool = False

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
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

    def close(self) -> None:
        """No new connections; the old ones are cut."""
        self._listener.close()
        self.cut()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            try:
                server.connect(str(self.target))
            except OSError:
                client.close()
                continue
            line = Line(client, server)
            with self._lock:
                self._lines.add(line)
            for ends in ((client, server, False), (server, client, True)):
                threading.Thread(target=self._pass, args=(line, *ends), daemon=True).start()

    def _pass(self, line: Line, source: socket.socket, goal: socket.socket, answers: bool) -> None:
        try:
            while data := source.recv(65536):
                if answers and self._swallow:
                    with self._lock:
                        mine, self._swallow = self._swallow, False
                    if mine:
                        self.swallowed += 1
                        break
                goal.sendall(data)
        except OSError:
            pass
        with self._lock:
            self._lines.discard(line)
        line.cut()
